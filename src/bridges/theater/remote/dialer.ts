// Owns: connecting with retries, and which codec the server uses. Does not own: a connection (connection.ts).
import type { Clock, Entropy } from "../../../core/contract/index.ts";
import { StageError } from "../stage.ts";
import type { Codec } from "../wire/codec.ts";
import { Connection, type ConnectionEvents } from "./connection.ts";
import { ConnectionError } from "./errors.ts";
import type { RemoteLimits, Settings } from "./options.ts";
import { counted } from "../../../core/contract/internal.ts";

/** Settles after that time or when aborted, whichever comes first. */
export function delay(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      undo();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const undo = clock.after(ms, done);
    signal.addEventListener("abort", done, { once: true });
  });
}

/** Exponential backoff before the next attempt. Bounded, and half of it random, so that clients do not all return at once. */
export function retryDelay(limits: RemoteLimits, entropy: Entropy, failed: number): number {
  const maxMs = Math.min(limits.retryMaxMs, limits.retryMs * 2 ** Math.min(failed - 1, 30));
  const random = Number.parseInt(entropy.hex(4), 16) / 0x1_0000_0000;
  return Math.ceil(maxMs / 2 + (maxMs / 2) * random);
}

const IGNORE_EVENTS = { push: () => undefined, ended: () => undefined };

async function tryCodec(settings: Settings, codec: Codec, signal: AbortSignal): Promise<Codec> {
  const connection = await Connection.open(settings, codec, IGNORE_EVENTS);
  try {
    await connection.send({ type: "ListActors" }, { limitMs: settings.limits.probeMs, signal });
    return codec;
  } finally {
    connection.close();
  }
}

/**
 * Tries both codecs, each on a connection of its own: a server ignores what it does not understand, or disconnects. If the older codec
 * is answered first, the newer one has a short grace period, since it also names actors. Throws `ConnectionError`: `unreached` or
 * `ended`, or `silent` if something listens but understands neither.
 */
async function detectCodec(settings: Settings, closing: AbortSignal): Promise<Codec> {
  const decided = new AbortController();
  const signal = AbortSignal.any([closing, decided.signal]);
  const newer = tryCodec(settings, "fragmenting", signal);
  const older = tryCodec(settings, "raw", signal);
  try {
    const first = await Promise.any([newer, older]);
    if (first === "fragmenting") return first;
    const graceOver = delay(settings.clock, settings.limits.graceMs, closing).then(() => first);
    return await Promise.race([newer.catch(() => graceOver), graceOver]);
  } catch (error) {
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    const transient = errors.find((one) => one instanceof ConnectionError && (one.why === "unreached" || one.why === "ended"));
    if (transient !== undefined) throw transient;
    throw new ConnectionError(
      "silent",
      `Something listens where ${settings.server} should, and answers in none of its codecs: check the port.`,
      false,
    );
  } finally {
    decided.abort();
  }
}

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
      await connection.send({ type: "ListActors" }, { limitMs: codec === "auto" ? limits.probeMs : limits.replyMs });
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
    const sentence = `${error.message} It was tried ${counted(limits.attempts, "time")}: see that the server runs and try again.`;
    return new StageError("CommunicationError", sentence, { cause: error });
  }
}
