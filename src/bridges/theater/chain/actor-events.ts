// Owns: which of Theater's events one event of ours becomes, for guests and for other actors. Does not own: the state and position of the
// chain (projector.ts).
import { sha256 } from "../../../core/chain/index.ts";
import {
  type Body,
  type ContentStore,
  type Header,
  isJsonObject,
  isList,
  type Json,
  type JsonObject,
} from "../../../core/contract/index.ts";
import { getOwn } from "../../../core/contract/internal.ts";
import type { WitValue } from "../../wasm/index.ts";
import { type Printable, printJson } from "../wire/wire-json.ts";
import { HOST_FUNCTIONS, type HostCallEvents } from "./host-functions.ts";
import type { UnlinkedEvent } from "./link.ts";
import { fieldOf, MAX_STATE_BYTES, MAX_VALUE_BYTES, printWit, RecordedValues, textOf } from "./recorded-values.ts";

const wasmEvent = (data: Printable, description: string): UnlinkedEvent => ({ eventType: "wasm", data: { Wasm: data }, description });

const suffix = (missing: string | undefined): string => (missing === undefined ? "" : ` (${missing})`);

/** `missing`: which of its parameters are omitted. */
export const wasmCall = (name: string, params: Uint8Array, missing?: string): UnlinkedEvent =>
  wasmEvent({ WasmCall: { function_name: name, params } }, `Wasm call to function '${name}'${suffix(missing)}`);

/** `state`: null if there is none. `missing`: why it is omitted. */
export const wasmResult = (name: string, state: Uint8Array | null, result: Uint8Array, missing: string | undefined): UnlinkedEvent =>
  wasmEvent(
    { WasmResult: { function_name: name, result: [state, result] } },
    `Wasm call to function '${name}' completed${suffix(missing)}`,
  );

const wasmError = (name: string, message: string): UnlinkedEvent =>
  wasmEvent({ WasmError: { function_name: name, message } }, `Wasm call to function '${name}' failed`);

const runtimeEvent = (data: Printable, description: string): UnlinkedEvent => ({
  eventType: "theater-runtime",
  data: { TheaterRuntime: data },
  description,
});

/** `manifest`: the digest of its text, or `kind:<name>`. */
export const loadEvents = (actor: string, manifest: string): readonly UnlinkedEvent[] => [
  runtimeEvent({ ActorLoadCall: { manifest_id: { hash: manifest } } }, `Loading actor [${actor}] from manifest [${manifest}]`),
  runtimeEvent({ ActorLoadResult: { success: true } }, `Loaded actor [${actor}]`),
];

const updateEvents = (component: string): readonly UnlinkedEvent[] => [
  runtimeEvent({ ActorUpdateStart: { new_component_address: component } }, `Updating to component [${component}]`),
  runtimeEvent({ ActorUpdateComplete: { new_component_address: component } }, `Updated to component [${component}]`),
];

/** For events that Theater does not have. */
export const logEvent = (message: string): UnlinkedEvent => ({
  eventType: "runtime",
  data: { Runtime: { Log: { level: "info", message } } },
  description: message,
});

/** A host function that is not in the tables. */
const unknownFunction = (name: string): HostCallEvents => ({ family: "Runtime", called: { Log: { level: "debug", message: name } } });

/** The events of one host call, by the name of its import (`runtime.log`). */
export function hostEvents(name: string, args: readonly WitValue[], result: WitValue, at: number): readonly UnlinkedEvent[] {
  const [interfaceName = "", functionName = ""] = name.split(".", 2);
  const eventType = `theater:simple/${interfaceName}/${functionName}`;
  const describe = getOwn(getOwn(HOST_FUNCTIONS, interfaceName), functionName);
  const err = fieldOf(result, "err");
  const error = err === undefined ? undefined : textOf(err);
  const ok = fieldOf(result, "ok") ?? (isResult(result) ? undefined : result);
  const described = describe?.({ args, ok, error, at }) ?? unknownFunction(name);
  const outcome = error === undefined ? described.returned : (described.failed ?? described.returned);
  const events: UnlinkedEvent[] = [];
  const add = (content: Printable, description: string): void =>
    void events.push({ eventType, data: { [described.family]: content }, description });
  if (described.called !== undefined) add(described.called, callDescription(name, args));
  if (outcome !== undefined) add(outcome, error === undefined ? `${name} succeeded` : `${name} failed: ${shortened(error)}`);
  return events;
}

const isResult = (value: WitValue): boolean => typeof value === "object" && value !== null && ("ok" in value || "err" in value);

const MAX_DESCRIPTION_LENGTH = 200;
const shortened = (message: string): string =>
  message.length > MAX_DESCRIPTION_LENGTH ? `${message.slice(0, MAX_DESCRIPTION_LENGTH).toWellFormed()}…` : message;

/** The call, with its first argument if that is text. */
function callDescription(name: string, [first]: readonly WitValue[]): string {
  return typeof first === "string" ? `${name}: ${shortened(first)}` : name;
}

type Get = ContentStore["get"];

const listField = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);
const textField = (bag: JsonObject, name: string): string => (typeof bag[name] === "string" ? bag[name] : "");

/** The events of one call into a guest: the call, the host calls it made, and its result. */
export async function guestEvents(header: Header, body: Body, state: Json | undefined, get: Get): Promise<readonly UnlinkedEvent[]> {
  const { record } = body;
  const call = isJsonObject(record) ? record["call"] : undefined;
  if (!isJsonObject(record) || !isJsonObject(call)) return eventsWithoutCall(header, body);
  const exported = textField(call, "export");
  const name = `theater:simple/${exported}`;
  const recorded = new RecordedValues(get);
  const params = await recorded.values(listField(call["params"]));
  const callEvent = wasmCall(name, printJson(params.map(printWit)), recorded.note());
  const eventsOfHostCalls: UnlinkedEvent[] = [];
  for (const one of listField(record["did"])) eventsOfHostCalls.push(...(await hostCallEvents(one, header.at, recorded)));
  return [
    callEvent,
    ...eventsOfHostCalls,
    record["end"] === "ok"
      ? guestResult(name, exported, await recorded.value(record["back"]), recorded.note(), await recordedState(state, get))
      : wasmError(name, textField(record, "message") || `It ended: ${textField(record, "end")}.`),
  ];
}

/** The events of one host call, or of the first of many that are stored as one content: `{ calls, kept }`. */
async function hostCallEvents(hostCall: Json, at: number, recorded: RecordedValues): Promise<readonly UnlinkedEvent[]> {
  if (!isJsonObject(hostCall)) return [];
  const reference = hostCall["kept"];
  if (!isJsonObject(reference)) {
    const args = await recorded.values(listField(hostCall["args"]));
    const events = hostEvents(textField(hostCall, "name"), args, await recorded.value(hostCall["result"]), at);
    const note = recorded.note();
    return note === undefined ? events : events.map((event) => ({ ...event, description: `${event.description} (${note})` }));
  }
  const calls = await recorded.calls(reference);
  if (typeof calls === "string") return [logEvent(`${JSON.stringify(hostCall["calls"] ?? null)} host calls ${calls}`)];
  const events: UnlinkedEvent[] = [];
  for (const call of calls)
    if (isJsonObject(call) && !isJsonObject(call["kept"])) events.push(...(await hostCallEvents(call, at, recorded)));
  return events;
}

/** Exports that return a value besides the state. */
const RETURNING: ReadonlySet<string> = new Set(["message-server-client.handle-request", "message-server-client.handle-channel-open"]);

interface RecordedState {
  readonly bytes: Uint8Array | null;
  readonly missing?: string;
}

function guestResult(
  name: string,
  exported: string,
  back: WitValue,
  omitted: string | undefined,
  { bytes, missing }: RecordedState,
): UnlinkedEvent {
  const returned = RETURNING.has(exported) ? [printWit(back)] : null;
  return wasmResult(name, bytes, printJson(returned), joinReasons(missing, omitted));
}

async function recordedState(state: Json | undefined, get: Get): Promise<RecordedState> {
  if (!isJsonObject(state)) return { bytes: null, missing: "its state is not known: an event before was erased" };
  const digest = state["state"];
  if (typeof digest !== "string") return { bytes: null };
  const bytes = await get(digest);
  if (bytes === undefined) return { bytes: null, missing: `its state ${digest} is no longer kept` };
  if (bytes.length > MAX_STATE_BYTES) return { bytes: null, missing: `its state ${digest} of ${bytes.length} bytes is left out` };
  return { bytes };
}

/** Events without a call into the guest. */
function eventsWithoutCall({ type }: Header, { message }: Body): readonly UnlinkedEvent[] {
  const args = isJsonObject(message) && isJsonObject(message["args"]) ? message["args"] : {};
  if (type === "update") return updateEvents(textField(args, "origin") || textField(args, "component"));
  return [logEvent(type)];
}

interface JsonPart {
  readonly bytes: Uint8Array;
  /** Why the bytes are omitted. */
  readonly missing?: string;
}

/** The JSON of a value. If it is too long, null and its digest. */
function jsonPart(what: string, value: Json | undefined, maxBytes: number): JsonPart {
  const text = JSON.stringify(value ?? null);
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return { bytes };
  return { bytes: Buffer.from("null"), missing: `${what} ${sha256(text)} of ${bytes.length} bytes is left out` };
}

/** The events of an actor that is not a guest: a call named `kind.action`, with arguments, state and reply as JSON. */
export function kindEvents(kind: string, { type }: Header, { message, reply }: Body, state: Json | undefined): readonly UnlinkedEvent[] {
  const name = `${kind}.${type}`;
  const refused = isJsonObject(reply) ? reply["refused"] : undefined;
  const args = jsonPart("what it was given", isJsonObject(message) ? message["args"] : null, MAX_VALUE_BYTES);
  return [
    wasmCall(name, args.bytes, args.missing),
    isJsonObject(refused)
      ? wasmError(name, [refused["code"], refused["message"]].filter((one) => typeof one === "string").join(": "))
      : kindResult(name, state, isJsonObject(reply) ? reply["ok"] : null),
  ];
}

function kindResult(name: string, state: Json | undefined, reply: Json | undefined): UnlinkedEvent {
  const replyPart = jsonPart("its reply", reply, MAX_VALUE_BYTES);
  if (state === undefined)
    return wasmResult(name, null, replyPart.bytes, joinReasons("its state is not known: an event before was erased", replyPart.missing));
  const { bytes, missing } = jsonPart("its state", state, MAX_STATE_BYTES);
  return wasmResult(name, missing === undefined ? bytes : null, replyPart.bytes, joinReasons(missing, replyPart.missing));
}

const joinReasons = (...reasons: readonly (string | undefined)[]): string | undefined =>
  reasons.filter((why) => why !== undefined).join("; ") || undefined;
