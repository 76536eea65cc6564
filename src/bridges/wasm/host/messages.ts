import { type ActorId, isJsonObject, type Json, type Outgoing, type Reply } from "../../../core/contract/index.ts";
import { kindOf, scopesOf } from "../../../core/contract/internal.ts";
import { type ChannelEnd, GUEST, isGuestState, pausedMessage } from "../guest-state.ts";
import type { CallHost, Import } from "./call-host.ts";
import { deriveId, isUuid } from "./call-effects.ts";
import { base64, asBytes, type ImportResult, ok, asText } from "./values.ts";

/** `message-server-host`: what is sent leaves with the commit, what is asked waits. */

const MAX_CHANNELS = 1_000;
/** Of all messages of one call. */
const MAX_SENDS = 10_000;

/** Law 3: whoever is no guest decides as for any viewer, and is told which actor asks. */
function messageTo(host: CallHost, to: ActorId, action: "send" | "request", data: Uint8Array): Outgoing {
  if (isGuest(to)) return { to, action, args: { data: base64(data) } };
  const message = parseAction(data);
  checkScopes(host, to, message.action);
  return { to, ...message, viewer: { self: host.environment.message.to, scopes: [] } };
}

/** Those who call an actor check them, and a guest calls it itself. */
function checkScopes({ environment }: CallHost, to: ActorId, action: string): void {
  const catalogue = environment.kinds.find(({ kind }) => kind === kindOf(to))?.catalogue;
  const offers = [...(catalogue?.tools ?? []), ...(catalogue?.resources ?? []), ...(catalogue?.prompts ?? [])];
  const scopes = offers.filter((offer) => offer.action === action).flatMap(({ definition }) => scopesOf(definition));
  if (scopes.length > 0)
    throw new Error(`SCOPE: ${action} requires the scopes ${scopes.join(", ")}, and a guest has none: ask a client to call it.`);
}

function addSend({ effects }: CallHost, outgoing: Outgoing): void {
  if (effects.sends.length >= MAX_SENDS) throw new Error(`A call sends at most ${MAX_SENDS} messages: send the rest from the next.`);
  effects.sends.push(outgoing);
}

/** What the other end is told: an actor by a message, somebody outside as the event is announced. */
function notifyEnd(host: CallHost, end: ChannelEnd, channel: string, what: { data: string } | { why: string }): void {
  const args: Json = { channel, ...what };
  if ("actor" in end) addSend(host, { to: end.actor, action: "data" in what ? "channel-message" : "channel-close", args });
  else host.effects.emits.push("data" in what ? args : { channel, closed: what.why });
}

function openEndOf({ environment, effects }: CallHost, channel: string): ChannelEnd {
  const end = effects.closed.has(channel) ? undefined : (effects.opened.get(channel) ?? ownChannel(environment.state.channels, channel));
  if (end === undefined || ("host" in end && end.host !== environment.process))
    throw new Error(`The channel ${channel.slice(0, 100)} is closed: open another one.`);
  return end;
}

const ownChannel = (channels: Readonly<Record<string, ChannelEnd>>, channel: string): ChannelEnd | undefined =>
  Object.hasOwn(channels, channel) ? channels[channel] : undefined;

async function callActor(host: CallHost, message: Outgoing): Promise<Reply> {
  try {
    return await host.environment.context.call(message);
  } catch (error) {
    throw new Error(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function request(host: CallHost, [given, content]: Parameters<Import>[1]): Promise<ImportResult> {
  const [name, data] = [asText(given), asBytes(content)];
  return host.environment.requests.once(host.effects.nextRequest(), name, data, async () => {
    const to = await targetOf(host, name);
    const message = messageTo(host, to, "request", data);
    const reply = await callActor(host, message);
    const value = isGuest(to) ? dataOf(unwrapGuestReply(reply)) : new Uint8Array(Buffer.from(JSON.stringify(unwrapReply(reply))));
    return { result: ok(value) };
  });
}

function dataOf(value: Json): Uint8Array {
  const data = typeof value === "object" && value !== null && "data" in value ? value["data"] : undefined;
  return new Uint8Array(Buffer.from(typeof data === "string" ? data : "", "base64"));
}

/** Tried again after it was cut short, a call would else be given those that were closed behind it. */
function newChannel({ environment, effects }: CallHost): string {
  const n = effects.nextDerived();
  for (let again = 0; ; again += 1) {
    const channel = `ch_${deriveId(environment.message.seed, again === 0 ? "channel" : `channel ${again}`, n).slice(0, 16)}`;
    if (!environment.interruptedChannels.has(channel)) return channel;
  }
}

async function openChannel(host: CallHost, [name, initial]: Parameters<Import>[1]): Promise<ImportResult> {
  const { environment, effects } = host;
  const to = await targetOf(host, asText(name));
  if (!isGuest(to)) throw new Error(`${to} takes no channels: send it messages.`);
  if (to === environment.message.to) throw new Error("An actor opens no channel to itself: keep what you would send in your state.");
  if (Object.keys(environment.state.channels).length + effects.opened.size >= MAX_CHANNELS)
    throw new Error(`An actor has at most ${MAX_CHANNELS} channels: close some.`);
  const channel = newChannel(host);
  effects.attempted.channels.set(channel, { actor: to });
  const args = { channel, data: base64(asBytes(initial)), end: { actor: environment.message.to } };
  try {
    const value = unwrapGuestReply(await callActor(host, { to, action: "channel-open", args }));
    const accepted = typeof value === "object" && value !== null && "accepted" in value && value["accepted"] === true;
    if (!accepted)
      return { result: { err: `${asText(name)} rejected the channel: send it a message, or ask another actor.` }, lasting: true };
    effects.opened.set(channel, { actor: to });
    return { result: ok(channel), lasting: true };
  } catch (error) {
    return { result: { err: error instanceof Error ? error.message : String(error) }, lasting: true };
  }
}

async function sendOnChannel(host: CallHost, [given, data]: Parameters<Import>[1]): Promise<ImportResult> {
  const channel = asText(given);
  const end = openEndOf(host, channel);
  if ("actor" in end && !(await isAlive(host.environment, end.actor))) {
    host.effects.closed.add(channel);
    throw new Error(`The channel ${channel} is closed: ${end.actor} has stopped.`);
  }
  if ("actor" in end) await refusePaused(host, end.actor);
  notifyEnd(host, end, channel, { data: base64(asBytes(data)) });
  return { result: ok() };
}

function answerRequest({ environment, effects }: CallHost, id: string, reply: Reply): ImportResult {
  if (!environment.outstanding.includes(id) || effects.answers.has(id))
    throw new Error(
      `There is no request ${id.slice(0, 100)} that waits for an answer: it was answered, or its asker was told that it will not be.`,
    );
  effects.answers.set(id, reply);
  return { result: ok() };
}

export const messages: Readonly<Record<string, Import>> = {
  async send(host, [name, data]) {
    const to = await targetOf(host, asText(name));
    await refusePaused(host, to);
    addSend(host, messageTo(host, to, "send", asBytes(data)));
    return { result: ok() };
  },
  request,
  "open-channel": openChannel,
  "send-on-channel": sendOnChannel,
  "close-channel"(host, [given]) {
    const channel = asText(given);
    notifyEnd(host, openEndOf(host, channel), channel, { why: "the other end closed it" });
    host.effects.closed.add(channel);
    return { result: ok() };
  },
  "respond-to-request": (host, [id, data]) => answerRequest(host, asText(id), { ok: { data: base64(asBytes(data)) } }),
  "cancel-request": (host, [id]) =>
    answerRequest(host, asText(id), {
      refused: { code: "CANCELLED", message: "The actor will not answer this request: ask again, or another." },
    }),
};

/** Whom a guest means: by UUID, by the unique name of a guest, or as `kind/key`. Throws where nobody lives under it. */
async function targetOf({ environment, effects }: CallHost, name: string): Promise<ActorId> {
  if (name === environment.uid) return environment.message.to;
  const child = effects.spawned.get(name) ?? own(environment.state.children, name);
  const id = child ?? (isUuid(name) ? await environment.engine.find(name) : isActorId(name) ? name : guestNamed(name));
  if (id === environment.message.to) return id;
  if (id === undefined || !(await isAlive(environment, id)))
    throw new Error(`There is no actor ${name.slice(0, 100)}: it has stopped, or never began.`);
  return id;
}

export async function isAlive({ engine }: Pick<CallHost["environment"], "engine">, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now !== undefined && now.status !== "stopped";
}

/** Throws where it is a guest that is paused: it would refuse what is sent, and no one reads that reply. */
async function refusePaused({ environment }: CallHost, id: ActorId): Promise<void> {
  const state = (await environment.engine.read(id))?.state;
  if (!isGuestState(state) || state.status !== "paused") return;
  // Paused with this parent, which runs again: it resumes before what is sent now arrives.
  if (state.failed === undefined && state.parent === environment.message.to) return;
  throw new Error(`PAUSED: ${pausedMessage(state)}`);
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

function guestNamed(name: string): ActorId | undefined {
  return name === "" || name.length > 256 || !name.isWellFormed() ? undefined : `${GUEST}/${encodeURIComponent(name)}`;
}

const own = <V>(bag: Readonly<Record<string, V>>, key: string): V | undefined => (Object.hasOwn(bag, key) ? bag[key] : undefined);

const MAX_DEPTH = 64;

/** What another kind of actor is told: `{"action": "...", "args": …}` as JSON. */
function parseAction(bytes: Uint8Array): { readonly action: string; readonly args: Json } {
  const json = parseJson(bytes);
  if (isJsonObject(json) && typeof json["action"] === "string" && isPlainJson(json, MAX_DEPTH))
    return { action: json["action"], args: json["args"] ?? {} };
  throw new Error('This actor is no guest: send it JSON text {"action": "tools/look", "args": {…}}.');
}

/** Undefined: they are no JSON text. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    const json: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return json;
  } catch {
    return undefined;
  }
}

/** What the engine takes: neither too deep, nor with half a character in it. */
function isPlainJson(json: Json, deeper: number): boolean {
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json !== "object" || json === null) return true;
  return deeper > 0 && Object.entries(json).every(([key, value]: [string, Json]) => key.isWellFormed() && isPlainJson(value, deeper - 1));
}

/** What was answered. Throws why nothing was. */
function unwrapReply(reply: Reply): Json {
  if ("refused" in reply) throw new Error(`${reply.refused.code}: ${reply.refused.message}`);
  if ("needs" in reply) throw new Error("It asks something of a person, which a guest cannot answer: call it from a client.");
  return reply.ok;
}

/** The same of a guest: a call of its that failed is told as an answer, since it leaves an event. */
export function unwrapGuestReply(reply: Reply): Json {
  const answer = unwrapReply(reply);
  if (!isJsonObject(answer) || !isJsonObject(answer["failed"])) return answer;
  const { code, message } = answer["failed"];
  throw new Error(`${typeof code === "string" ? code : "ActorError"}: ${typeof message === "string" ? message : "it failed"}`);
}
