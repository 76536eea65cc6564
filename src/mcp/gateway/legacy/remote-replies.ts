// Owns: reading replies that run at another node, and the names that say which node it is. Does not own: replies that run here
// (resumable-stream.ts).
import { type Channel, isJsonObject, type Json, type Peers, type Clock, type StreamStore } from "../../../core/contract/index.ts";
import { errorText, Fault, inLog } from "../errors.ts";
import { isResponse, type RequestId, shortText } from "../json-rpc.ts";
import type { Settings } from "../options.ts";
import { ALIVE_MS, RemoteReader, type ResumableStream, type StreamOwner } from "./resumable-stream.ts";

/** Request: follow a reply that runs there, and be notified when it grows. */
export const FOLLOW = "session/follow";
/** Request: the followed reply has grown, or is over. */
export const REPLY = "session/reply";

/** How often followed replies are checked, in case a hint was lost. */
const CHECK_MS = 10_000;
/** How often the store is polled for a reply whose node cannot be reached. */
const POLL_MS = 1_000;
/** A process without a sign of life for this long counts as dead. */
const SILENT_MS = 4 * ALIVE_MS;

const keyOf = (session: string, stream: string): string => JSON.stringify([session, stream]);

/** A session whose replies are read. */
interface StreamSession {
  readonly row: { readonly id: string };
  stream(name: string): ResumableStream | undefined;
}

/** Replies that run at one node and are read at another. */
export class RemoteReplies {
  readonly #peers: Peers;
  readonly #settings: Settings;
  readonly #followed = new Map<string, RemoteReply>();
  #undoCheck: (() => void) | undefined;

  constructor(peers: Peers, settings: Settings) {
    this.#peers = peers;
    this.#settings = settings;
  }

  /** Sends the rest of a reply that runs at another node. Settles when what there is so far was sent; the channel is closed at its end. */
  async follow(session: StreamSession, stream: string, last: string, open: (owner: StreamOwner) => Channel): Promise<void> {
    const { streams, log, clock } = this.#settings;
    const failed = (error: unknown): void => log("error", { event: "replay-failed", ...inLog(error) });
    const key = keyOf(session.row.id, stream);
    let following: RemoteReply | undefined;
    const channel = open({
      streamEnded: () => {
        if (this.#followed.get(key) === following) this.#followed.delete(key);
      },
    });
    if (channel.disconnected.aborted) return;
    this.#followed.get(key)?.close();
    following = new RemoteReply({ streams, session: session.row.id, stream, last, clock, channel, failed });
    this.#followed.set(key, following);
    void following.look();
    await this.#attach(following);
  }

  /** Notifies that node of the reply from now on. False: it does not run here. */
  async sendTo(session: StreamSession, name: string, to: string): Promise<boolean> {
    const stream = session.stream(name);
    if (stream === undefined) return false;
    const about = { session: session.row.id, stream: name };
    const hint = async (over: boolean): Promise<boolean> => (await this.#peers.ask(to, REPLY, { ...about, over })) === true;
    await stream.resume(new RemoteReader(to, hint), () => Promise.resolve());
    return true;
  }

  /** A reply that is read here has grown or is over. False: no client reads it here. */
  look(message: Json): boolean {
    if (!isJsonObject(message)) return false;
    const following = this.#followed.get(keyOf(shortText(message["session"], 128) ?? "", shortText(message["stream"], 128) ?? ""));
    if (following === undefined) return false;
    void (message["over"] === true ? following.end() : following.look());
    return true;
  }

  /** Replies that are read here may have grown unnoticed, or lost their node. */
  check(): void {
    const failed = (error: unknown): void => this.#settings.log("error", { event: "follow-failed", ...inLog(error) });
    for (const following of this.#followed.values()) this.#attach(following).catch(failed);
  }

  close(): void {
    this.#undoCheck?.();
    for (const following of this.#followed.values()) following.close();
  }

  async #attach(following: RemoteReply): Promise<void> {
    const { session, stream } = following;
    const node = nodeIn(stream);
    const elsewhere = node !== undefined && node !== this.#peers.self;
    if (elsewhere && this.#settings.isolated) return this.#poll(following);
    const runs = elsewhere && (await this.#peers.ask(node, FOLLOW, { session, stream })) === true;
    // The node does not notify us of what was sent before it received the request.
    if (!runs) return following.end();
    this.#checkAfter(CHECK_MS);
    await following.look();
  }

  // Its last message is the response. A process that has died sends neither it nor the signs of life, four times a minute.
  async #poll(following: RemoteReply): Promise<void> {
    const { clock, dialect } = this.#settings;
    await following.look();
    if (following.answered) return following.end();
    if (clock.now() - following.heardAt <= SILENT_MS) return this.#checkAfter(POLL_MS);
    const request = requestIn(following.stream);
    if (request === undefined) return following.end();
    following.endWith(errorText(request, ownerLost(), "legacy", dialect.faults));
  }

  #checkAfter(ms: number): void {
    this.#undoCheck ??= this.#settings.clock.after(ms, () => {
      this.#undoCheck = undefined;
      this.check();
    });
  }
}

/** Which reply is followed, after which event, and where it is sent to. */
interface Followed {
  readonly streams: StreamStore;
  readonly session: string;
  readonly stream: string;
  readonly last: string;
  readonly clock: Clock;
  readonly channel: Channel;
  /** The store failed; the client may resume again. */
  readonly failed: (error: unknown) => void;
}

/**
 * A reply that runs at another node, read from the store they share. Hints only cause a read; the order of the store decides what is sent,
 * so that nothing is lost, repeated or out of order.
 */
class RemoteReply {
  readonly #followed: Followed;
  /** Its response was sent. */
  answered = false;
  /** When the store last had something new, even if only a sign of life. */
  heardAt: number;
  #last: string;
  #tail: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(followed: Followed) {
    this.#followed = followed;
    this.#last = followed.last;
    this.heardAt = followed.clock.now();
  }

  get session(): string {
    return this.#followed.session;
  }

  get stream(): string {
    return this.#followed.stream;
  }

  /** Sends what the store has now. Never rejects. */
  look(): Promise<void> {
    this.#next ??= this.#tail = this.#tail.then(() => {
      this.#next = undefined;
      return this.#read();
    });
    return this.#next;
  }

  /** Sends the rest, and ends. */
  async end(): Promise<void> {
    await this.look();
    this.#followed.channel.close();
  }

  /** Sends that as the last message, and ends. */
  endWith(text: string): void {
    this.#followed.channel.send(text);
    this.#followed.channel.close();
  }

  /** Sends nothing more. */
  close(): void {
    this.#followed.channel.close();
  }

  async #read(): Promise<void> {
    const { streams, session, channel, clock, failed } = this.#followed;
    try {
      const missed = await streams.after(session, this.#last);
      // The event was dropped: what comes after the gap must not look like its continuation.
      if (missed === undefined) return channel.close();
      if (missed.messages.length > 0) this.heardAt = clock.now();
      for (const { id, message } of missed.messages) {
        if (message !== null) channel.send(JSON.stringify(message), id);
        this.#last = id;
        if (isResponse(message)) this.answered = true;
      }
    } catch (error) {
      failed(error);
      channel.close();
    }
  }
}

/** The process of a reply has ended without it. */
export const ownerLost = (): Fault =>
  new Fault(
    "UNAVAILABLE",
    "The process that ran this request gives no sign of life; whether it was applied is not known. Look, then ask again.",
    {
      data: { applied: "unknown" },
    },
  );

/** A name for something that exists in one process only. With several processes it names the process, so that the others know which to ask. */
export function nodeMark({ peers, entropy }: Settings): string {
  return peers === undefined ? entropy.hex(8) : `${peers.self}-${entropy.hex(8)}`;
}

// Clients send it back in a header.
const SENDABLE = /^[\x20-\x7e]{1,64}$/;

/** The name of a reply. If other processes cannot reach this one, it also contains the request, so that they can answer it with an error. */
export function replyMark({ peers, isolated, self, entropy }: Settings, request: RequestId | undefined): string {
  const mark = `${self}-${entropy.hex(8)}`;
  if (request === undefined || (peers !== undefined && !isolated)) return mark;
  const id = JSON.stringify(request);
  return SENDABLE.test(id) ? `${mark}-${id}` : mark;
}

const MARK = /^(?:ask-)?([a-z0-9]{16})-[0-9a-f]{16}(?:-(.+))?$/;

/** The node in a name that a client sent, which may be forged. Undefined: there is none. */
export function nodeIn(name: string): string | undefined {
  return MARK.exec(name)?.[1];
}

/** The request in the name of a reply. */
export function requestIn(name: string): RequestId | undefined {
  const text = MARK.exec(name)?.[2];
  if (text === undefined) return undefined;
  try {
    const id: unknown = JSON.parse(text);
    return typeof id === "string" || typeof id === "number" ? id : undefined;
  } catch {
    return undefined;
  }
}
