// Owns: what a GET of a session opens: its standalone stream, or the rest of a reply. Does not own: replies that still run
// (resumable-stream.ts, remote-replies.ts).
import { type Answer, type Channel, type Exchange, isJsonObject, type Json, type CancelSignal } from "../../../core/contract/index.ts";
import type { Core, OpenEnded } from "../core.ts";
import { errorText, Fault } from "../errors.ts";
import { isResponse, type RequestId } from "../json-rpc.ts";
import { has } from "../revision.ts";
import { ownerLost, nodeIn, replyMark, requestIn } from "./remote-replies.ts";
import { RETRY_MS, type StreamOwner } from "./resumable-stream.ts";
import { sessionUnknown, streamHeaders } from "./sessions.ts";
import type { Session } from "./session.ts";

const STANDALONE = "get";

/** Opens the standalone stream of the session, or the rest of a reply whose connection broke. */
export async function openGetStream(core: Core, session: Session, exchange: Exchange): Promise<Answer> {
  const last = exchange.header("last-event-id");
  if (last === undefined) return standalone(core, session, exchange);
  const { streams, dialect } = core.settings;
  const missed = await streams.after(session.row.id, last);
  if (missed === undefined && dialect.refusesEvents)
    throw new Fault("SESSION_UNKNOWN", "There is no such event; ask without Last-Event-ID.", { reason: "event-unknown" });
  if (missed !== undefined && missed.stream !== STANDALONE) return resume(core, session, exchange, missed.stream, last);
  return standalone(core, session, exchange);
}

const begin = ({ settings }: Core, session: Session, exchange: Exchange): Channel =>
  exchange.stream(streamHeaders(settings.dialect, session, exchange));

// The newest request takes over. A client whose connection broke unnoticed has no other way back: often it has no event id to send, and it
// gives up when it is refused.
async function standalone(core: Core, session: Session, exchange: Exchange): Promise<Answer> {
  if (exchange.resumesOnly === true)
    throw new Fault("VERB", "There is no stream to listen on here: answers come with the requests they belong to.", {
      headers: { allow: "POST, DELETE" },
    });
  const { dialect, streams } = core.settings;
  if (session.nodes !== undefined) {
    await session.nodes.claim(session);
    if (session.closed) throw sessionUnknown();
  }
  const opened = (): Channel => {
    // What was written to a stream that still seemed open may have reached no one.
    if (session.standalone !== undefined) session.doubtDelivery();
    session.standalone?.close();
    return begin(core, session, exchange);
  };
  const channel = new OpenStream(core, opened, session);
  if (dialect.primesStandalone && has(session.revision, "primedStreams"))
    channel.send("", await streams.append(session.row.id, STANDALONE, null), RETRY_MS);
  await session.listen(channel, exchange.caller, channel.inner);
  // If the client went to two nodes at once, the row names one of them.
  if (session.listensElsewhere) session.releaseStream();
  return { status: 200, open: true };
}

async function resume(core: Core, session: Session, exchange: Exchange, name: string, last: string): Promise<Answer> {
  const running = session.stream(name);
  if (running === undefined && session.nodes !== undefined) {
    const open = (owner: StreamOwner): Channel => new OpenStream(core, () => begin(core, session, exchange), owner);
    await session.nodes.replies.follow(session, name, last, open);
    return { status: 200, open: true };
  }
  if (running === undefined) return replayed(core, session, exchange, name, last);
  const channel = begin(core, session, exchange);
  await running.resume(channel, async () => {
    for (const { id, message } of await restOf(core, session, last)) channel.send(JSON.stringify(message), id);
  });
  return { status: 200, open: true };
}

/** Sends the rest of a stream that is over. */
async function replayed(core: Core, session: Session, exchange: Exchange, name: string, last: string): Promise<Answer> {
  const messages = await restOf(core, session, last);
  const request = messages.some(({ message }) => isResponse(message)) ? undefined : orphaned(core, name);
  // An empty stream makes clients come back for more, as those of the official SDK do. The alternative in MCP is 405.
  if (messages.length === 0 && request === undefined && !core.settings.dialect.refusesEvents)
    throw new Fault("VERB", "Nothing is left of this stream: its request was cancelled, or all of it was read.", {
      headers: { allow: "POST, DELETE" },
    });
  const channel = begin(core, session, exchange);
  for (const { id, message } of messages) if (request === undefined || !isRequest(message)) channel.send(JSON.stringify(message), id);
  if (request !== undefined) await refuse(core, session, request, channel);
  core.sentEvents.add(session.row.id, name, channel.disconnected);
  return { status: 200 };
}

/** The request of a reply that an earlier process was working on when it ended. Undefined: this process runs it or did, or it has no name. */
function orphaned({ settings }: Core, name: string): RequestId | undefined {
  return settings.peers !== undefined || nodeIn(name) === settings.self ? undefined : requestIn(name);
}

/** Sent as an event of this process, so that a client that asks for what follows it learns that there is nothing. */
async function refuse({ settings }: Core, session: Session, request: RequestId, channel: Channel): Promise<void> {
  const text = errorText(request, ownerLost(), "legacy", settings.dialect.faults);
  channel.send(text, await settings.streams.append(session.row.id, replyMark(settings, undefined), JSON.parse(text)));
}

// A question of the server is not replayed: its answer is no longer waited for.
const isRequest = (message: Json): boolean => isJsonObject(message) && message["method"] !== undefined && message["id"] !== undefined;

/** The messages after that event, without the events that only carry an id to resume from. */
async function restOf(
  { settings }: Core,
  session: Session,
  last: string,
): Promise<readonly { readonly id: string; readonly message: Json }[]> {
  const missed = await settings.streams.after(session.row.id, last);
  return missed?.messages.filter(({ message }) => message !== null) ?? [];
}

/** An event stream that stays open until its client, a drain or another stream ends it, and counts as open until then. */
class OpenStream implements Channel, OpenEnded {
  /** The channel behind it, for notifications of very many clients, where each object on the way is a cache miss. */
  readonly inner: Channel;
  readonly #core: Core;
  readonly #owner: StreamOwner;

  /** Throws `BUSY` before it calls `open`. */
  constructor(core: Core, open: () => Channel, owner: StreamOwner) {
    if (core.openStreams.size >= core.settings.limits.listens) throw new Fault("BUSY", "Too many streams are open; close one first.");
    this.#core = core;
    this.inner = open();
    this.#owner = owner;
    core.openStreams.add(this);
    if (this.disconnected.aborted) this.#leave();
    else this.disconnected.addEventListener("abort", () => this.#leave(), { once: true });
  }

  get ready(): boolean {
    return this.inner.ready;
  }

  get disconnected(): CancelSignal {
    return this.inner.disconnected;
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    this.inner.send(text, eventId, retryMs, event);
  }

  onReady(run: () => void): () => void {
    return this.inner.onReady(run);
  }

  close(): void {
    try {
      this.inner.close();
    } finally {
      this.#leave();
    }
  }

  finish(): void {
    this.close();
  }

  // `disconnected` is aborted only if the client has left, not if the server ends the stream.
  #leave(): void {
    if (this.#core.openStreams.delete(this)) this.#owner.streamEnded(this, this.inner);
  }
}
