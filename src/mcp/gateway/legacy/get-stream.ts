import { type Answer, type Channel, type Exchange, isBag, type Json } from "../../../core/contract/index.ts";
import type { Core } from "../core.ts";
import { Fault } from "../errors.ts";
import { errorText, isResponse, type RequestId } from "../json-rpc.ts";
import { has } from "../revision.ts";
import { lost } from "./lost.ts";
import { sessionUnknown } from "./newcomers.ts";
import { nodeIn, replyMark, requestIn } from "./node-mark.ts";
import { OpenStream, type StreamOwner } from "./open-stream.ts";
import { streamHeaders } from "./post-aside.ts";
import { RETRY_MS } from "./resumable-stream.ts";
import type { Session } from "./session.ts";

const STANDALONE = "get";

/** What a GET listens to: its session's standalone stream, or the rest of a reply that broke off. */
export async function openGetStream(core: Core, session: Session, exchange: Exchange): Promise<Answer> {
  const last = exchange.header("last-event-id");
  if (last === undefined) return standalone(core, session, exchange);
  const { streams, profile } = core.settings;
  const missed = await streams.after(session.row.id, last);
  if (missed === undefined && profile.refusesEvents)
    throw new Fault("SESSION_UNKNOWN", "There is no such event; ask without Last-Event-ID.", { reason: "event-unknown" });
  if (missed !== undefined && missed.stream !== STANDALONE) return resume(core, session, exchange, missed.stream, last);
  return standalone(core, session, exchange);
}

const begin = ({ settings }: Core, session: Session, exchange: Exchange): Channel =>
  exchange.stream(streamHeaders(settings.profile, session, exchange));

// The newest request takes over. A client whose connection broke without our noticing has no other way back: often it has no event id
// to send, and refused it gives up.
async function standalone(core: Core, session: Session, exchange: Exchange): Promise<Answer> {
  const { profile, streams } = core.settings;
  if (session.nodes !== undefined) {
    await session.nodes.claim(session);
    if (session.closed) throw sessionUnknown();
  }
  const opened = (): Channel => {
    session.standalone?.close();
    return begin(core, session, exchange);
  };
  const channel = new OpenStream(core, opened, session);
  if (profile.primesStandalone && has(session.revision, "primedStreams"))
    channel.send("", await streams.append(session.row.id, STANDALONE, null), RETRY_MS);
  await session.listen(channel, exchange.caller, channel.way);
  // Of two nodes that the client went to at once, the row names one.
  if (session.listensElsewhere) session.letGo();
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
    for (const { id, message } of await left(core, session, last)) channel.send(JSON.stringify(message), id);
  });
  return { status: 200, open: true };
}

/** The stream is over: what was left of it is read now. */
async function replayed(core: Core, session: Session, exchange: Exchange, name: string, last: string): Promise<Answer> {
  const messages = await left(core, session, last);
  const request = messages.some(({ message }) => isResponse(message)) ? undefined : orphaned(core, name);
  // By an empty stream clients are told to come back for more, and those of the official SDK do. MCP has 405 beside the stream itself.
  if (messages.length === 0 && request === undefined && !core.settings.profile.refusesEvents)
    throw new Fault("VERB", "Nothing is left of this stream: its request was cancelled, or all of it was read.", {
      headers: { allow: "POST, DELETE" },
    });
  const channel = begin(core, session, exchange);
  for (const { id, message } of messages) if (request === undefined || !isRequest(message)) channel.send(JSON.stringify(message), id);
  if (request !== undefined) await refuse(core, session, request, channel);
  core.delivered.add(session.row.id, name, channel.gone);
  return { status: 200 };
}

/** The request of a reply that a process before this one ran, and ended without. Undefined: this one runs it or did, or it has no name. */
function orphaned({ settings }: Core, name: string): RequestId | undefined {
  return settings.peers !== undefined || nodeIn(name) === settings.self ? undefined : requestIn(name);
}

/** Under an event of this process: whoever asks for what follows it is told that nothing does. */
async function refuse({ settings }: Core, session: Session, request: RequestId, channel: Channel): Promise<void> {
  const text = errorText(request, lost(), "legacy", settings.profile.faults);
  channel.send(text, await settings.streams.append(session.row.id, replyMark(settings, undefined), JSON.parse(text)));
}

// Nobody waits for its answer any more: a person is asked nothing in vain.
const isRequest = (message: Json): boolean => isBag(message) && message["method"] !== undefined && message["id"] !== undefined;

/** What came after that event, without those that only give an id to come back with. */
async function left(
  { settings }: Core,
  session: Session,
  last: string,
): Promise<readonly { readonly id: string; readonly message: Json }[]> {
  const missed = await settings.streams.after(session.row.id, last);
  return missed?.messages.filter(({ message }) => message !== null) ?? [];
}
