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
import { KeptValues } from "./kept-values.ts";
import type { Unlinked } from "./link.ts";
import { STATE_BYTES } from "./told-lengths.ts";
import { printWit } from "./values.ts";
import { noted, updated, wasmCall, wasmError, wasmResult } from "./wasm-events.ts";

type Get = ContentStore["get"];

const LONGEST = 2 ** 31;

const bytesOf = (value: Printable): Uint8Array => printJson(value, LONGEST);
const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);
const textIn = (bag: JsonObject, name: string): string => (typeof bag[name] === "string" ? bag[name] : "");

/** The events of one call into a guest: the call, the host calls it made, and its result. */
export async function guestEvents(header: Header, body: Body, state: Json | undefined, get: Get): Promise<readonly Unlinked[]> {
  const { record } = body;
  const call = isJsonObject(record) ? record["call"] : undefined;
  if (!isJsonObject(record) || !isJsonObject(call)) return withoutCall(header, body);
  const exported = textIn(call, "export");
  const name = `theater:simple/${exported}`;
  const kept = new KeptValues(get);
  const params = await kept.values(listOf(call["params"]));
  const called = wasmCall(name, bytesOf(params.map(printWit)), kept.note());
  const did: Unlinked[] = [];
  for (const one of listOf(record["did"])) did.push(...(await hostCalls(one, header.at, kept)));
  return [
    called,
    ...did,
    record["end"] === "ok"
      ? result(name, exported, await kept.value(record["back"]), kept.note(), await stateBytes(state, get))
      : wasmError(name, textIn(record, "message") || `It ended: ${textIn(record, "end")}.`),
  ];
}

/** The events of one host call, or of the first of many that are stored as one content: `{ calls, kept }`. */
async function hostCalls(told: Json, at: number, kept: KeptValues): Promise<readonly Unlinked[]> {
  if (!isJsonObject(told)) return [];
  const apart = told["kept"];
  if (!isJsonObject(apart)) {
    const args = await kept.values(listOf(told["args"]));
    const events = hostEvents(textIn(told, "name"), args, await kept.value(told["result"]), at);
    const note = kept.note();
    return note === undefined ? events : events.map((event) => ({ ...event, description: `${event.description} (${note})` }));
  }
  const calls = await kept.calls(apart);
  if (typeof calls === "string") return [noted(`${JSON.stringify(told["calls"] ?? null)} host calls ${calls}`)];
  const events: Unlinked[] = [];
  for (const call of calls) if (isJsonObject(call) && !isJsonObject(call["kept"])) events.push(...(await hostCalls(call, at, kept)));
  return events;
}

/** Exports that return a value besides the state. */
const GIVING: ReadonlySet<string> = new Set(["message-server-client.handle-request", "message-server-client.handle-channel-open"]);

interface Told {
  readonly bytes: Uint8Array | null;
  readonly missing?: string;
}

function result(name: string, exported: string, back: WitValue, left: string | undefined, { bytes, missing }: Told): Unlinked {
  const gave = GIVING.has(exported) ? [printWit(back)] : null;
  return wasmResult(name, bytes, bytesOf(gave), [missing, left].filter((one) => one !== undefined).join("; ") || undefined);
}

async function stateBytes(state: Json | undefined, get: Get): Promise<Told> {
  if (!isJsonObject(state)) return { bytes: null, missing: "its state is not known: an event before was erased" };
  const digest = state["state"];
  if (typeof digest !== "string") return { bytes: null };
  const bytes = await get(digest);
  if (bytes === undefined) return { bytes: null, missing: `its state ${digest} is no longer kept` };
  if (bytes.length > STATE_BYTES) return { bytes: null, missing: `its state ${digest} of ${bytes.length} bytes is left out` };
  return { bytes };
}

/** Events without a call into the guest. */
function withoutCall({ type }: Header, { message }: Body): readonly Unlinked[] {
  const args = isJsonObject(message) && isJsonObject(message["args"]) ? message["args"] : {};
  if (type === "update") return updated(textIn(args, "origin") || textIn(args, "component"));
  return [noted(type)];
}
