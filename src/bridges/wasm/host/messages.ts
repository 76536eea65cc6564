import { type ActorId, isJsonObject, type Json, type Outgoing, type Reply } from "../../../core/contract/index.ts";
import { kindOf, scopesOf } from "../../../core/contract/internal.ts";
import { type ChannelEnd, GUEST, isGuestState, whyPaused } from "../guest-state.ts";
import type { CallHost, Import } from "./call-host.ts";
import { derived, isUuid } from "./call-effects.ts";
import { base64, bytes, type Given, ok, text } from "./values.ts";

/** `message-server-host`: what is sent leaves with the commit, what is asked waits. */

const MOST_CHANNELS = 1_000;
/** Of all messages of one call. */
const MOST_SENDS = 10_000;

/** Law 3: whoever is no guest decides as for any viewer, and is told which actor asks. */
function told(host: CallHost, to: ActorId, action: "send" | "request", data: Uint8Array): Outgoing {
  if (isGuest(to)) return { to, action, args: { data: base64(data) } };
  const message = actionIn(data);
  checkScopes(host, to, message.action);
  return { to, ...message, viewer: { self: host.of.message.to, scopes: [] } };
}

/** Those who call an actor check them, and a guest calls it itself. */
function checkScopes({ of }: CallHost, to: ActorId, action: string): void {
  const catalogue = of.kinds.find(({ kind }) => kind === kindOf(to))?.catalogue;
  const offers = [...(catalogue?.tools ?? []), ...(catalogue?.resources ?? []), ...(catalogue?.prompts ?? [])];
  const scopes = offers.filter((offer) => offer.action === action).flatMap(({ definition }) => scopesOf(definition));
  if (scopes.length > 0)
    throw new Error(`SCOPE: ${action} requires the scopes ${scopes.join(", ")}, and a guest has none: ask a client to call it.`);
}

function gather({ gathered }: CallHost, outgoing: Outgoing): void {
  if (gathered.sends.length >= MOST_SENDS) throw new Error(`A call sends at most ${MOST_SENDS} messages: send the rest from the next.`);
  gathered.sends.push(outgoing);
}

/** What the other end is told: an actor by a message, somebody outside as the event is announced. */
function tellEnd(host: CallHost, end: ChannelEnd, channel: string, what: { data: string } | { why: string }): void {
  const args: Json = { channel, ...what };
  if ("actor" in end) gather(host, { to: end.actor, action: "data" in what ? "channel-message" : "channel-close", args });
  else host.gathered.emits.push("data" in what ? args : { channel, closed: what.why });
}

function endOf({ of, gathered }: CallHost, channel: string): ChannelEnd {
  const end = gathered.closed.has(channel) ? undefined : (gathered.opened.get(channel) ?? ownChannel(of.state.channels, channel));
  if (end === undefined || ("host" in end && end.host !== of.process))
    throw new Error(`The channel ${channel.slice(0, 100)} is closed: open another one.`);
  return end;
}

const ownChannel = (channels: Readonly<Record<string, ChannelEnd>>, channel: string): ChannelEnd | undefined =>
  Object.hasOwn(channels, channel) ? channels[channel] : undefined;

async function ask(host: CallHost, message: Outgoing): Promise<Reply> {
  try {
    return await host.of.context.call(message);
  } catch (error) {
    throw new Error(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function request(host: CallHost, [given, content]: Parameters<Import>[1]): Promise<Given> {
  const [name, data] = [text(given), bytes(content)];
  return host.of.asked.once(host.gathered.nextRequest(), name, data, async () => {
    const to = await targetOf(host, name);
    const message = told(host, to, "request", data);
    const reply = await ask(host, message);
    const value = isGuest(to) ? dataOf(guestReplyOf(reply)) : new Uint8Array(Buffer.from(JSON.stringify(replyOf(reply))));
    return { result: ok(value) };
  });
}

function dataOf(value: Json): Uint8Array {
  const data = typeof value === "object" && value !== null && "data" in value ? value["data"] : undefined;
  return new Uint8Array(Buffer.from(typeof data === "string" ? data : "", "base64"));
}

/** Tried again after it was cut short, a call would else be given those that were closed behind it. */
function newChannel({ of, gathered }: CallHost): string {
  const n = gathered.next();
  for (let again = 0; ; again += 1) {
    const channel = `ch_${derived(of.message.seed, again === 0 ? "channel" : `channel ${again}`, n).slice(0, 16)}`;
    if (!of.cut.has(channel)) return channel;
  }
}

async function open(host: CallHost, [name, initial]: Parameters<Import>[1]): Promise<Given> {
  const { of, gathered } = host;
  const to = await targetOf(host, text(name));
  if (!isGuest(to)) throw new Error(`${to} takes no channels: send it messages.`);
  if (to === of.message.to) throw new Error("An actor opens no channel to itself: keep what you would send in your state.");
  if (Object.keys(of.state.channels).length + gathered.opened.size >= MOST_CHANNELS)
    throw new Error(`An actor has at most ${MOST_CHANNELS} channels: close some.`);
  const channel = newChannel(host);
  gathered.tried.channels.set(channel, { actor: to });
  const args = { channel, data: base64(bytes(initial)), end: { actor: of.message.to } };
  try {
    const value = guestReplyOf(await ask(host, { to, action: "channel-open", args }));
    const accepted = typeof value === "object" && value !== null && "accepted" in value && value["accepted"] === true;
    if (!accepted)
      return { result: { err: `${text(name)} rejected the channel: send it a message, or ask another actor.` }, lasting: true };
    gathered.opened.set(channel, { actor: to });
    return { result: ok(channel), lasting: true };
  } catch (error) {
    return { result: { err: error instanceof Error ? error.message : String(error) }, lasting: true };
  }
}

async function sendOn(host: CallHost, [given, data]: Parameters<Import>[1]): Promise<Given> {
  const channel = text(given);
  const end = endOf(host, channel);
  if ("actor" in end && !(await lives(host.of, end.actor))) {
    host.gathered.closed.add(channel);
    throw new Error(`The channel ${channel} is closed: ${end.actor} has stopped.`);
  }
  if ("actor" in end) await refusePaused(host, end.actor);
  tellEnd(host, end, channel, { data: base64(bytes(data)) });
  return { result: ok() };
}

function answer({ of, gathered }: CallHost, id: string, reply: Reply): Given {
  if (!of.outstanding.includes(id) || gathered.answers.has(id))
    throw new Error(
      `There is no request ${id.slice(0, 100)} that waits for an answer: it was answered, or its asker was told that it will not be.`,
    );
  gathered.answers.set(id, reply);
  return { result: ok() };
}

export const messages: Readonly<Record<string, Import>> = {
  async send(host, [name, data]) {
    const to = await targetOf(host, text(name));
    await refusePaused(host, to);
    gather(host, told(host, to, "send", bytes(data)));
    return { result: ok() };
  },
  request,
  "open-channel": open,
  "send-on-channel": sendOn,
  "close-channel"(host, [given]) {
    const channel = text(given);
    tellEnd(host, endOf(host, channel), channel, { why: "the other end closed it" });
    host.gathered.closed.add(channel);
    return { result: ok() };
  },
  "respond-to-request": (host, [id, data]) => answer(host, text(id), { ok: { data: base64(bytes(data)) } }),
  "cancel-request": (host, [id]) =>
    answer(host, text(id), { refused: { code: "CANCELLED", message: "The actor will not answer this request: ask again, or another." } }),
};

/** Whom a guest means: by UUID, by the unique name of a guest, or as `kind/key`. Throws where nobody lives under it. */
async function targetOf({ of, gathered }: CallHost, name: string): Promise<ActorId> {
  if (name === of.uid) return of.message.to;
  const child = gathered.born.get(name) ?? own(of.state.children, name);
  const id = child ?? (isUuid(name) ? await of.engine.find(name) : isActorId(name) ? name : guestCalled(name));
  if (id === of.message.to) return id;
  if (id === undefined || !(await lives(of, id)))
    throw new Error(`There is no actor ${name.slice(0, 100)}: it has stopped, or never began.`);
  return id;
}

export async function lives({ engine }: Pick<CallHost["of"], "engine">, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now !== undefined && now.status !== "stopped";
}

/** Throws where it is a guest that is paused: it would refuse what is sent, and no one reads that reply. */
async function refusePaused({ of }: CallHost, id: ActorId): Promise<void> {
  const state = (await of.engine.read(id))?.state;
  if (!isGuestState(state) || state.status !== "paused") return;
  // Paused with this parent, which runs again: it resumes before what is sent now arrives.
  if (state.failed === undefined && state.parent === of.message.to) return;
  throw new Error(`PAUSED: ${whyPaused(state)}`);
}

const isGuest = (id: ActorId): boolean => id.startsWith(`${GUEST}/`);

const isActorId = (name: string): name is ActorId => /^[a-z][a-z0-9-]{0,63}\/[^/]{1,768}$/u.test(name) && isCanonical(name);

/** Another writing of a key than `encodeURIComponent`'s names nobody. */
function isCanonical(name: string): boolean {
  const key = name.slice(name.indexOf("/") + 1);
  try {
    return encodeURIComponent(decodeURIComponent(key)) === key;
  } catch {
    return false;
  }
}

function guestCalled(name: string): ActorId | undefined {
  return name === "" || name.length > 256 || !name.isWellFormed() ? undefined : `${GUEST}/${encodeURIComponent(name)}`;
}

const own = <V>(bag: Readonly<Record<string, V>>, key: string): V | undefined => (Object.hasOwn(bag, key) ? bag[key] : undefined);

const DEEPEST = 64;

/** What another kind of actor is told: `{"action": "...", "args": …}` as JSON. */
function actionIn(bytes: Uint8Array): { readonly action: string; readonly args: Json } {
  const json = jsonOf(bytes);
  if (isJsonObject(json) && typeof json["action"] === "string" && isPlain(json, DEEPEST))
    return { action: json["action"], args: json["args"] ?? {} };
  throw new Error('This actor is no guest: send it JSON text {"action": "tools/look", "args": {…}}.');
}

/** Undefined: they are no JSON text. */
export function jsonOf(bytes: Uint8Array): Json | undefined {
  try {
    const json: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return json;
  } catch {
    return undefined;
  }
}

/** What the engine takes: neither too deep, nor with half a character in it. */
function isPlain(json: Json, deeper: number): boolean {
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json !== "object" || json === null) return true;
  return deeper > 0 && Object.entries(json).every(([key, value]: [string, Json]) => key.isWellFormed() && isPlain(value, deeper - 1));
}

/** What was answered. Throws why nothing was. */
function replyOf(reply: Reply): Json {
  if ("refused" in reply) throw new Error(`${reply.refused.code}: ${reply.refused.message}`);
  if ("needs" in reply) throw new Error("It asks something of a person, which a guest cannot answer: call it from a client.");
  return reply.ok;
}

/** The same of a guest: a call of its that failed is told as an answer, since it leaves an event. */
export function guestReplyOf(reply: Reply): Json {
  const answer = replyOf(reply);
  if (!isJsonObject(answer) || !isJsonObject(answer["failed"])) return answer;
  const { code, message } = answer["failed"];
  throw new Error(`${typeof code === "string" ? code : "ActorError"}: ${typeof message === "string" ? message : "it failed"}`);
}
