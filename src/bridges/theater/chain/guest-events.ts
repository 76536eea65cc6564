import {
  type JsonObject,
  type Body,
  type ContentStore,
  type Header,
  isJsonObject,
  isList,
  type Json,
} from "../../../core/contract/index.ts";
import type { WitValue } from "../../wasm/index.ts";
import { type Printable, printJson } from "../wire/index.ts";
import { hostEvents } from "./host/index.ts";
import { RecordedValues } from "./kept-values.ts";
import type { UnlinkedEvent } from "./link.ts";
import { MAX_STATE_BYTES } from "./told-lengths.ts";
import { printWit } from "./values.ts";
import { logEvent, updateEvents, wasmCall, wasmError, wasmResult } from "./wasm-events.ts";

type Get = ContentStore["get"];

const MAX_JSON_BYTES = 2 ** 31;

const jsonBytes = (value: Printable): Uint8Array => printJson(value, MAX_JSON_BYTES);
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
  const callEvent = wasmCall(name, jsonBytes(params.map(printWit)), recorded.note());
  const hostEventList: UnlinkedEvent[] = [];
  for (const one of listField(record["did"])) hostEventList.push(...(await hostCallEvents(one, header.at, recorded)));
  return [
    callEvent,
    ...hostEventList,
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
  for (const call of calls) if (isJsonObject(call) && !isJsonObject(call["kept"])) events.push(...(await hostCallEvents(call, at, recorded)));
  return events;
}

/** Exports that return a value besides the state. */
const RETURNING: ReadonlySet<string> = new Set(["message-server-client.handle-request", "message-server-client.handle-channel-open"]);

interface RecordedState {
  readonly bytes: Uint8Array | null;
  readonly missing?: string;
}

function guestResult(name: string, exported: string, back: WitValue, omitted: string | undefined, { bytes, missing }: RecordedState): UnlinkedEvent {
  const returned = RETURNING.has(exported) ? [printWit(back)] : null;
  return wasmResult(name, bytes, jsonBytes(returned), [missing, omitted].filter((one) => one !== undefined).join("; ") || undefined);
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
