// Owns: the interface `message-server-host`: sends, requests and channels; how a guest addresses actors and reads their replies.
import { type ActorId, type Engine, isJsonObject, type Json, type Outgoing, type Reply } from "../../../core/contract/index.ts";
import { getOwn, isActorId, kindOf, roundingIssue, scopesOf } from "../../../core/contract/internal.ts";
import { type ChannelEnd, GUEST, isGuestId, isGuestState, MAX_CHANNELS, pausedMessage } from "../guest-state.ts";
import type { Import, ImportContext } from "./call-environment.ts";
import { deriveId, isUuid } from "./call-effects.ts";
import { base64, asBytes, ok, asText } from "./values.ts";
import type { ImportResult } from "../sandbox.ts";
import { messageOf } from "../wasm-error.ts";

/** Messages of one call, together. */
const MAX_SENDS = 10_000;

/** An actor that is not a guest gets the sender as viewer, and decides as for any viewer (law 3). */
function messageTo(host: ImportContext, to: ActorId, action: "send" | "request", data: Uint8Array): Outgoing {
  if (isGuestId(to)) return { to, action, args: { data: base64(data) } };
  const message = parseAction(data);
  checkScopes(host, to, message.action);
  return { to, ...message, viewer: { self: host.environment.message.to, scopes: [] } };
}

/** The caller of an actor must check scopes, and here the guest is the caller. */
function checkScopes({ environment }: ImportContext, to: ActorId, action: string): void {
  const catalogue = environment.kinds.find(({ kind }) => kind === kindOf(to))?.catalogue;
  const offers = [...(catalogue?.tools ?? []), ...(catalogue?.resources ?? []), ...(catalogue?.prompts ?? [])];
  const scopes = offers.filter((offer) => offer.action === action).flatMap(({ definition }) => scopesOf(definition));
  if (scopes.length > 0)
    throw new Error(`SCOPE: ${action} requires the scopes ${scopes.join(", ")}, and a guest has none: ask a client to call it.`);
}

function addSend({ effects }: ImportContext, outgoing: Outgoing): void {
  if (effects.sends.length >= MAX_SENDS) throw new Error(`A call sends at most ${MAX_SENDS} messages: send the rest from the next.`);
  effects.sends.push(outgoing);
}

function openEndOf({ environment, effects }: ImportContext, channel: string): ChannelEnd {
  const end = effects.closed.has(channel) ? undefined : (effects.opened.get(channel) ?? getOwn(environment.state.channels, channel));
  if (end === undefined || ("host" in end && end.host !== environment.process))
    throw new Error(`The channel ${channel.slice(0, 100)} is closed: open another one.`);
  return end;
}

async function callActor(host: ImportContext, message: Outgoing): Promise<Reply> {
  try {
    return await host.environment.context.call(message);
  } catch (error) {
    throw new Error(messageOf(error), { cause: error });
  }
}

function request(host: ImportContext, [given, content]: Parameters<Import>[1]): Promise<ImportResult> {
  const [name, data] = [asText(given), asBytes(content)];
  return host.environment.requests.once(host.effects.nextRequest(), name, data, async () => {
    const to = await targetOf(host, name);
    const message = messageTo(host, to, "request", data);
    const reply = await callActor(host, message);
    const value = isGuestId(to) ? dataOf(unwrapGuestReply(reply)) : new Uint8Array(Buffer.from(JSON.stringify(unwrapReply(reply))));
    return { result: ok(value) };
  });
}

function dataOf(value: Json): Uint8Array {
  const data = isJsonObject(value) ? value["data"] : undefined;
  return new Uint8Array(Buffer.from(typeof data === "string" ? data : "", "base64"));
}

/** Skips ids of channels that were closed when an earlier attempt was interrupted. */
function newChannel({ environment, effects }: ImportContext): string {
  const n = effects.nextDerived();
  for (let again = 0; ; again += 1) {
    const channel = `ch_${deriveId(environment.message.seed, again === 0 ? "channel" : `channel ${again}`, n).slice(0, 16)}`;
    if (!environment.interruptedChannels.has(channel)) return channel;
  }
}

async function openChannel(host: ImportContext, [name, initial]: Parameters<Import>[1]): Promise<ImportResult> {
  const { environment, effects } = host;
  const to = await targetOf(host, asText(name));
  if (!isGuestId(to)) throw new Error(`${to} takes no channels: send it messages.`);
  if (to === environment.message.to) throw new Error("An actor opens no channel to itself: keep what you would send in your state.");
  if (Object.keys(environment.state.channels).length + effects.opened.size >= MAX_CHANNELS)
    throw new Error(`An actor has at most ${MAX_CHANNELS} channels: close some.`);
  const channel = newChannel(host);
  effects.attempted.channels.set(channel, { actor: to });
  const args = { channel, data: base64(asBytes(initial)), end: { actor: environment.message.to } };
  try {
    const value = unwrapGuestReply(await callActor(host, { to, action: "channel-open", args }));
    if (!isJsonObject(value) || value["accepted"] !== true)
      return { result: { err: `${asText(name)} rejected the channel: send it a message, or ask another actor.` }, lasting: true };
    effects.opened.set(channel, { actor: to });
    return { result: ok(channel), lasting: true };
  } catch (error) {
    return { result: { err: messageOf(error) }, lasting: true };
  }
}

async function sendOnChannel(host: ImportContext, [given, data]: Parameters<Import>[1]): Promise<ImportResult> {
  const channel = asText(given);
  const end = openEndOf(host, channel);
  const args = { channel, data: base64(asBytes(data)) };
  if ("host" in end) {
    // A client outside hears of it by the announced event.
    host.effects.emits.push(args);
    return { result: ok() };
  }
  if (!(await isAlive(host.environment.engine, end.actor))) {
    host.effects.closed.add(channel);
    throw new Error(`The channel ${channel} is closed: ${end.actor} has stopped.`);
  }
  await refusePaused(host, end.actor);
  addSend(host, { to: end.actor, action: "channel-message", args });
  return { result: ok() };
}

function answerRequest({ environment, effects }: ImportContext, id: string, reply: Reply): ImportResult {
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
    const end = openEndOf(host, channel);
    const why = "the other end closed it";
    if ("actor" in end) addSend(host, { to: end.actor, action: "channel-close", args: { channel, why } });
    else host.effects.emits.push({ channel, closed: why });
    host.effects.closed.add(channel);
    return { result: ok() };
  },
  "respond-to-request": (host, [id, data]) => answerRequest(host, asText(id), { ok: { data: base64(asBytes(data)) } }),
  "cancel-request": (host, [id]) =>
    answerRequest(host, asText(id), {
      refused: { code: "CANCELLED", message: "The actor will not answer this request: ask again, or another." },
    }),
};

/** Resolves a UUID, the unique name of a guest, or `kind/key` to a live actor. Throws if there is none. */
async function targetOf({ environment, effects }: ImportContext, name: string): Promise<ActorId> {
  if (name === environment.uid) return environment.message.to;
  const child = effects.spawned.get(name) ?? getOwn(environment.state.children, name);
  const id = child ?? (isUuid(name) ? await environment.engine.find(name) : isActorId(name) ? name : guestNamed(name));
  if (id === environment.message.to) return id;
  if (id === undefined || !(await isAlive(environment.engine, id)))
    throw new Error(`There is no actor ${name.slice(0, 100)}: it has stopped, or never began.`);
  return id;
}

export async function isAlive(engine: Engine, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now !== undefined && now.status !== "stopped";
}

/** Throws if it is a paused guest: it would refuse the message, and no one reads the reply to a send. */
async function refusePaused({ environment }: ImportContext, id: ActorId): Promise<void> {
  const state = (await environment.engine.read(id))?.state;
  if (!isGuestState(state) || state.status !== "paused") return;
  // Paused with this parent, which runs again: the child resumes before the message arrives.
  if (state.failed === undefined && state.parent === environment.message.to) return;
  throw new Error(`PAUSED: ${pausedMessage(state)}`);
}

function guestNamed(name: string): ActorId | undefined {
  return name === "" || name.length > 256 || !name.isWellFormed() ? undefined : `${GUEST}/${encodeURIComponent(name)}`;
}

const MAX_DEPTH = 64;

/** Parses a message to another kind of actor: `{"action": "...", "args": …}` as JSON. */
function parseAction(bytes: Uint8Array): { readonly action: string; readonly args: Json } {
  const json = parseJson(bytes);
  if (!isJsonObject(json) || typeof json["action"] !== "string" || !isPlainJson(json, MAX_DEPTH))
    throw new Error('This actor is no guest: send it JSON text {"action": "tools/look", "args": {…}}.');
  const issue = roundingIssue(new TextDecoder().decode(bytes));
  if (issue !== undefined) throw new Error(issue);
  return { action: json["action"], args: json["args"] ?? {} };
}

/** Undefined if the bytes are not JSON text. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    const json: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return json;
  } catch {
    return undefined;
  }
}

/** Whether the engine accepts it: not too deep, and without lone surrogates. */
function isPlainJson(json: Json, deeper: number): boolean {
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json !== "object" || json === null) return true;
  return deeper > 0 && Object.entries(json).every(([key, value]: [string, Json]) => key.isWellFormed() && isPlainJson(value, deeper - 1));
}

/** The value of a reply. Throws if it is a refusal or a question. */
function unwrapReply(reply: Reply): Json {
  if ("refused" in reply) throw new Error(`${reply.refused.code}: ${reply.refused.message}`);
  if ("needs" in reply) throw new Error("It asks something of a person, which a guest cannot answer: call it from a client.");
  return reply.ok;
}

/** The value of a guest's reply. A failed call is reported as an `ok` reply, since it leaves an event; this throws for it too. */
export function unwrapGuestReply(reply: Reply): Json {
  const answer = unwrapReply(reply);
  if (!isJsonObject(answer) || !isJsonObject(answer["failed"])) return answer;
  const { code, message } = answer["failed"];
  throw new Error(`${typeof code === "string" ? code : "ActorError"}: ${typeof message === "string" ? message : "it failed"}`);
}
