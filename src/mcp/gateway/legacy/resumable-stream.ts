// Owns: replies as event streams that can be resumed, from any node, and how long they are stored. Does not own: reading a reply that runs at
// another node (remote-replies.ts).
import type { CancelSignal, Channel, Json } from "../../../core/contract/index.ts";
import { inLog } from "../errors.ts";
import type { Settings } from "../options.ts";

/** How long a client waits before it resumes a broken stream. */
export const RETRY_MS = 1_000;

// In characters: as much as a socket accepts before its client counts as slow.
const MOST_WAITING = 65_536;

/** How often a reply that other processes can only poll for marks in the store that its own process lives. */
export const ALIVE_MS = 15_000;

/** Where a stream is sent to. */
export type StreamTarget = Pick<Channel, "ready" | "send" | "close"> & Partial<Pick<Channel, "disconnected">>;

/** What writes to a stream. */
export interface StreamOwner {
  /** Called once at the end of the stream, whatever ended it. `inner`: the channel behind it. */
  streamEnded(stream: Channel, inner: Channel): void;
}

export interface EventStreamOptions {
  readonly settings: Settings;
  readonly session: string;
  readonly name: string;
  /** It begins with an empty event with an id, so that a client can resume from before the first message. */
  readonly primed: boolean;
  /** The events of its messages have a name. */
  readonly named?: boolean;
}

/**
 * One reply as a stream of events that outlives its connection: every message is stored under the session before it is sent, in order,
 * and can be requested again by `Last-Event-ID`. A client that leaves does not end it.
 */
export class ResumableStream {
  readonly #options: EventStreamOptions;
  #target: StreamTarget | undefined;
  #abandoned = false;
  /** Its last message has been sent. */
  #over = false;
  #tail: Promise<void> = Promise.resolve();
  /** Characters on their way to the store, and in events that are not stored. They have separate bounds, since progress may be both. */
  #waiting = 0;
  #eventsWaiting = 0;
  #undoAlive: (() => void) | undefined;

  constructor(options: EventStreamOptions, channel: Channel) {
    this.#options = options;
    this.#target = channel;
    if (options.primed) this.#append(null);
    if (options.settings.isolated) this.#markAliveLater();
  }

  /** The session has ended: nothing more is stored, since it cannot be resumed. */
  abandon(): void {
    this.#abandoned = true;
    this.#undoAlive?.();
  }

  get name(): string {
    return this.#options.name;
  }

  /** False while the client does not read or has left, or much has to be stored first: messages that may be dropped are. */
  get ready(): boolean {
    return this.#reads && this.#waiting < MOST_WAITING;
  }

  get #reads(): boolean {
    return this.#target?.ready === true;
  }

  send(message: Json): void {
    this.#append(message);
  }

  /** Sends an event that is not a message. It is not stored, and is dropped while the client does not read. */
  event(name: string, data: Json): void {
    if (!this.#reads || this.#eventsWaiting >= MOST_WAITING) return;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    this.#eventsWaiting += text.length;
    void this.#after(async () => {
      this.#eventsWaiting -= text.length;
      if (this.#target?.ready === true) this.#target.send(text, undefined, undefined, name);
    });
  }

  /**
   * Ends the stream with its last message. Settles when that was sent or, without a client, stored. Returns the signal of the client it
   * was sent to; undefined: there was none here.
   */
  finish(message: Json | undefined): Promise<CancelSignal | undefined> {
    this.#undoAlive?.();
    if (message !== undefined) this.#append(message);
    return this.#after(async () => {
      this.#over = true;
      const target = this.#target;
      target?.close();
      this.#target = undefined;
      return target?.disconnected;
    });
  }

  /** Another connection takes over: `replay` runs between what was sent already and what follows. */
  resume(channel: StreamTarget, replay: () => Promise<void>): Promise<void> {
    if (this.#target instanceof RemoteReader) this.#target.yieldTo(channel);
    this.#target = undefined;
    return this.#after(async () => {
      await replay();
      if (this.#over) channel.close();
      else this.#target = channel;
    });
  }

  // Not sent to the client: those of older revisions cannot read an empty event.
  #markAliveLater(): void {
    const { settings, session, name } = this.#options;
    const failed = (error: unknown): void => settings.log("error", { event: "stream-append-failed", ...inLog(error) });
    this.#undoAlive = settings.clock.after(ALIVE_MS, () => {
      this.#after(async () => void (await settings.streams.append(session, name, null))).catch(failed);
      this.#markAliveLater();
    });
  }

  #append(message: Json): void {
    const { settings, session, name } = this.#options;
    const text = message === null ? "" : JSON.stringify(message);
    void this.#afterText(text, async () => {
      const event = this.#options.named === true && message !== null ? "message" : undefined;
      if (this.#abandoned) return this.#target?.send(text, undefined, undefined, event);
      try {
        const id = await settings.streams.append(session, name, message);
        this.#target?.send(text, id, message === null ? RETRY_MS : undefined, event);
      } catch (error) {
        // It can still be sent, but not resumed.
        settings.log("error", { event: "stream-append-failed", ...inLog(error) });
        if (message !== null) this.#target?.send(text, undefined, undefined, event);
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

  /** Runs `step` after those before it. A failure is reported to its caller only; the next steps run all the same. */
  #after<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(step);
    this.#tail = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }
}

/** Notifies a node that the reply it follows has grown, or is over. False: it did not receive that, or no client reads the reply there. */
export type Hint = (over: boolean) => Promise<boolean>;

/** The target of a reply whose client reads it at another node. Messages are in the store already; that node is notified to read them. */
export class RemoteReader {
  readonly #node: string;
  readonly #hint: Hint;
  #over = false;
  #hinting = false;
  #grown = false;
  /** False: no client reads it, so that messages that may be dropped are not stored. */
  ready = true;

  constructor(node: string, hint: Hint) {
    this.#node = node;
    this.#hint = hint;
  }

  send(): void {
    this.#grown = true;
    if (!this.#hinting) void this.#notify();
  }

  close(): void {
    this.#over = true;
    this.send();
  }

  /** A node that requests it once more continues with the new target; any other has lost its client. */
  yieldTo(other: object): void {
    if (!(other instanceof RemoteReader) || other.#node !== this.#node) this.close();
  }

  // One hint at a time is enough, however often the reply grows.
  async #notify(): Promise<void> {
    this.#hinting = true;
    while (this.#grown) {
      this.#grown = false;
      this.ready = await this.#hint(this.#over);
    }
    this.#hinting = false;
  }
}

/**
 * How long a reply that was sent to its end can still be resumed. Clients come back within seconds; one whose network broke silently notices
 * it by the comments that no longer come, four times a minute.
 */
const RESUMABLE_MS = 120_000;
/** With more, the oldest is dropped at once. */
const MOST = 10_000;

interface SentReply {
  readonly session: string;
  readonly stream: string;
  /** Of the client it was sent to. */
  readonly disconnected: CancelSignal;
  readonly until: number;
}

/** Replies that were sent to their end, which are dropped from the store before their sessions end. */
export class SentEvents {
  readonly #settings: Settings;
  readonly #replies = new Set<SentReply>();
  #undo: (() => void) | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  add(session: string, stream: string, disconnected: CancelSignal): void {
    const { clock, streams } = this.#settings;
    if (streams.drop === undefined || disconnected.aborted) return;
    this.#replies.add({ session, stream, disconnected, until: clock.now() + RESUMABLE_MS });
    if (this.#replies.size > MOST) this.#drop(this.#replies.values().next().value);
    this.#dropAfter(RESUMABLE_MS);
  }

  close(): void {
    this.#undo?.();
    this.#replies.clear();
  }

  #dropAfter(ms: number): void {
    this.#undo ??= this.#settings.clock.after(ms, () => {
      this.#undo = undefined;
      const now = this.#settings.clock.now();
      for (const reply of this.#replies) {
        if (reply.until > now) return this.#dropAfter(reply.until - now);
        this.#drop(reply);
      }
    });
  }

  #drop(reply: SentReply | undefined): void {
    if (reply === undefined) return;
    this.#replies.delete(reply);
    // The client left before it had read all of it.
    if (reply.disconnected.aborted) return;
    const { streams, log } = this.#settings;
    streams.drop?.(reply.session, reply.stream).catch((error: unknown) => log("error", { event: "stream-drop-failed", ...inLog(error) }));
  }
}
