import type { CancelSignal, Channel, Json } from "../../../core/contract/index.ts";
import { inLog } from "../errors.ts";
import type { Settings } from "../settings.ts";
import { FarWay } from "./far-way.ts";

/** How long a client waits before it asks for a broken stream again. */
export const RETRY_MS = 1_000;

// In characters: as much as a socket takes in before its client counts as slow.
const MOST_WAITING = 65_536;

/** So often a reply that others can only look for says in the store that its process lives. */
export const ALIVE_MS = 15_000;

/** What a stream goes out by. */
export type Way = Pick<Channel, "ready" | "send" | "close"> & Partial<Pick<Channel, "gone">>;

export interface EventStreamOptions {
  readonly settings: Settings;
  readonly session: string;
  readonly name: string;
  /** An empty event with an id comes first, so that a client can resume from before the first message. */
  readonly primed: boolean;
  /** Its messages are events that say so. */
  readonly named?: boolean;
}

/**
 * One reply as a stream of events that outlives its connection: every message is
 * kept under the session before it is sent, in order, and asked for again by
 * `Last-Event-ID`. A client that went away does not end it.
 */
export class ResumableStream {
  readonly #options: EventStreamOptions;
  #channel: Way | undefined;
  #abandoned = false;
  /** Its last message has been. */
  #over = false;
  #tail: Promise<void> = Promise.resolve();
  /** Of what is on its way to the store, and of events beside it: a step may be both, and neither takes the other's room. */
  #waiting = 0;
  #eventsWaiting = 0;
  #undoAlive: (() => void) | undefined;

  constructor(options: EventStreamOptions, channel: Channel) {
    this.#options = options;
    this.#channel = channel;
    if (options.primed) this.#append(null);
    if (options.settings.unreached) this.#aliveLater();
  }

  /** The session has ended: nothing more is kept of it, and nobody can ask again. */
  abandon(): void {
    this.#abandoned = true;
    this.#undoAlive?.();
  }

  get name(): string {
    return this.#options.name;
  }

  /** False while the client does not read or is away, or much has to be kept first: what may be lost is not sent. */
  get ready(): boolean {
    return this.#reads && this.#waiting < MOST_WAITING;
  }

  get #reads(): boolean {
    return this.#channel?.ready === true;
  }

  send(message: Json): void {
    this.#append(message);
  }

  /** An event of its own, for whoever reads it now: it is not kept, and dropped while the client does not read. */
  event(name: string, data: Json): void {
    if (!this.#reads || this.#eventsWaiting >= MOST_WAITING) return;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    this.#eventsWaiting += text.length;
    void this.#after(async () => {
      this.#eventsWaiting -= text.length;
      if (this.#channel?.ready === true) this.#channel.send(text, undefined, undefined, name);
    });
  }

  /**
   * The last message; settles when it was sent or, with nobody there, kept. The stream's connection ends, and any that takes
   * over. Returns whether the client it was sent to has gone; undefined: there was none here.
   */
  finish(message: Json | undefined): Promise<CancelSignal | undefined> {
    this.#undoAlive?.();
    if (message !== undefined) this.#append(message);
    return this.#after(async () => {
      this.#over = true;
      const way = this.#channel;
      way?.close();
      this.#channel = undefined;
      return way?.gone;
    });
  }

  /** Another connection takes over: `replay` runs between what was sent and what is to come. */
  resume(channel: Way, replay: () => Promise<void>): Promise<void> {
    if (this.#channel instanceof FarWay) this.#channel.yieldTo(channel);
    this.#channel = undefined;
    return this.#after(async () => {
      await replay();
      if (this.#over) channel.close();
      else this.#channel = channel;
    });
  }

  // Nothing that is sent: clients of older revisions cannot read an empty event.
  #aliveLater(): void {
    const { settings, session, name } = this.#options;
    const failed = (error: unknown): void => settings.log("error", { event: "stream-append-failed", ...inLog(error) });
    this.#undoAlive = settings.clock.after(ALIVE_MS, () => {
      this.#after(async () => void (await settings.streams.append(session, name, null))).catch(failed);
      this.#aliveLater();
    });
  }

  #append(message: Json): void {
    const { settings, session, name } = this.#options;
    const text = message === null ? "" : JSON.stringify(message);
    void this.#afterText(text, async () => {
      const event = this.#options.named === true && message !== null ? "message" : undefined;
      if (this.#abandoned) return this.#channel?.send(text, undefined, undefined, event);
      try {
        const id = await settings.streams.append(session, name, message);
        this.#channel?.send(text, id, message === null ? RETRY_MS : undefined, event);
      } catch (error) {
        // It can still be sent, only not asked for again.
        settings.log("error", { event: "stream-append-failed", ...inLog(error) });
        if (message !== null) this.#channel?.send(text, undefined, undefined, event);
      }
    });
  }

  #afterText({ length }: string, step: () => Promise<void>): Promise<void> {
    this.#waiting += length;
    return this.#after(() =>
      step().finally(() => {
        this.#waiting -= length;
      }),
    );
  }

  /** One that fails is its caller's to hear of; those behind it go on. */
  #after<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(step);
    this.#tail = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }
}
