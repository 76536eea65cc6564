import { StageError } from "../stage.ts";
import type { Codec } from "../wire/index.ts";
import { detectCodec } from "./codec-probe.ts";
import { Connection, type ConnectionEvents } from "./line.ts";
import { ConnectionError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { delay, retryDelay } from "./passed.ts";

/** Opens connections, with retries, and remembers the server's codec. */
export class Dialer {
  readonly #settings: Settings;
  readonly #closing = new AbortController();
  readonly #connections = new Set<Connection>();
  #codec: Promise<Codec> | undefined;
  #isUnreachable = false;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Throws `CommunicationError` when every attempt failed. */
  async dial(events: ConnectionEvents): Promise<Connection> {
    const { clock, entropy, limits } = this.#settings;
    for (let failed = 0; ;) {
      this.#checkOpen();
      try {
        return await this.#dial(events);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        failed += 1;
        this.#codec = undefined;
        if (failed >= limits.attempts || error.why === "silent") throw this.#unreachableError(error);
        await delay(clock, retryDelay(limits, entropy, failed), this.closing);
      }
    }
  }

  close(): void {
    this.#closing.abort();
    for (const connection of this.#connections) connection.close();
  }

  async #dial(events: ConnectionEvents): Promise<Connection> {
    const { log, server } = this.#settings;
    const connection: Connection = await Connection.open(this.#settings, await this.#codecToUse(), {
      push: (push) => events.push(push),
      ended: () => {
        this.#connections.delete(connection);
        events.ended();
      },
    });
    this.#connections.add(connection);
    if (this.closing.aborted) connection.close();
    this.#checkOpen();
    await this.#verify(connection);
    if (this.#isUnreachable) log("info", { event: "theater-reached", server, codec: connection.codec });
    this.#isUnreachable = false;
    return connection;
  }

  #codecToUse(): Promise<Codec> {
    const { codec } = this.#settings;
    if (codec !== "auto") return Promise.resolve(codec);
    return (this.#codec ??= detectCodec(this.#settings, this.closing));
  }

  /** Tests a new connection: the codec may be remembered from an earlier server, and some commands cannot be sent twice. */
  async #verify(connection: Connection): Promise<void> {
    const { codec, limits } = this.#settings;
    try {
      await connection.send({ is: "ListActors" }, { limitMs: codec === "auto" ? limits.probeMs : limits.replyMs });
    } catch (error) {
      // A refusal is an answer.
      if (!(error instanceof ConnectionError)) return;
      throw new ConnectionError("ended", `A connection to ${this.#settings.server} was of no use. ${error.message}`, false);
    }
  }

  #checkOpen(): void {
    if (this.closing.aborted) throw new StageError("CommunicationError", `The connection to ${this.#settings.server} was closed here.`);
  }

  #unreachableError(error: ConnectionError): StageError {
    const { log, server, limits } = this.#settings;
    if (!this.#isUnreachable) log("warning", { event: "theater-unreachable", server, why: error.why });
    this.#isUnreachable = true;
    if (error.why === "silent") return new StageError("CommunicationError", error.message, { cause: error });
    const sentence = `${error.message} It was tried ${limits.attempts} times: see that the server runs and try again.`;
    return new StageError("CommunicationError", sentence, { cause: error });
  }
}
