import { StageError } from "../stage.ts";
import type { Codec } from "../wire/index.ts";
import { probeCodec } from "./codec-probe.ts";
import { Line, type LineEvents } from "./line.ts";
import { LineError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { passed, pauseBefore } from "./passed.ts";

/** Opens connections, with retries, and remembers the server's codec. */
export class Dialer {
  readonly #settings: Settings;
  readonly #closing = new AbortController();
  readonly #lines = new Set<Line>();
  #codec: Promise<Codec> | undefined;
  #unreachable = false;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Throws `CommunicationError` when every attempt failed. */
  async dial(events: LineEvents): Promise<Line> {
    const { clock, entropy, limits } = this.#settings;
    for (let failed = 0; ;) {
      this.#checkOpen();
      try {
        return await this.#dial(events);
      } catch (error) {
        if (!(error instanceof LineError)) throw error;
        failed += 1;
        this.#codec = undefined;
        if (failed >= limits.attempts || error.why === "silent") throw this.#given(error);
        await passed(clock, pauseBefore(limits, entropy, failed), this.closing);
      }
    }
  }

  close(): void {
    this.#closing.abort();
    for (const line of this.#lines) line.close();
  }

  async #dial(events: LineEvents): Promise<Line> {
    const { log, server } = this.#settings;
    const line: Line = await Line.open(this.#settings, await this.#spoken(), {
      push: (push) => events.push(push),
      ended: () => {
        this.#lines.delete(line);
        events.ended();
      },
    });
    this.#lines.add(line);
    if (this.closing.aborted) line.close();
    this.#checkOpen();
    await this.#prove(line);
    if (this.#unreachable) log("info", { event: "theater-reached", server, codec: line.codec });
    this.#unreachable = false;
    return line;
  }

  #spoken(): Promise<Codec> {
    const { codec } = this.#settings;
    if (codec !== "auto") return Promise.resolve(codec);
    return (this.#codec ??= probeCodec(this.#settings, this.closing));
  }

  /** Tests a new connection: the codec may be remembered from an earlier server, and some commands cannot be sent twice. */
  async #prove(line: Line): Promise<void> {
    const { codec, limits } = this.#settings;
    try {
      await line.ask({ is: "ListActors" }, { limitMs: codec === "auto" ? limits.probeMs : limits.replyMs });
    } catch (error) {
      // A refusal is an answer.
      if (!(error instanceof LineError)) return;
      throw new LineError("ended", `A connection to ${this.#settings.server} was of no use. ${error.message}`, false);
    }
  }

  #checkOpen(): void {
    if (this.closing.aborted) throw new StageError("CommunicationError", `The connection to ${this.#settings.server} was closed here.`);
  }

  #given(error: LineError): StageError {
    const { log, server, limits } = this.#settings;
    if (!this.#unreachable) log("warning", { event: "theater-unreachable", server, why: error.why });
    this.#unreachable = true;
    if (error.why === "silent") return new StageError("CommunicationError", error.message, { cause: error });
    const sentence = `${error.message} It was tried ${limits.attempts} times: see that the server runs and try again.`;
    return new StageError("CommunicationError", sentence, { cause: error });
  }
}
