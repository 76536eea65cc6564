import type { Body, ContentStore, Header, Json } from "../../contract/index.ts";
import { ContentGone, unkept, type WitValue } from "../../wasm/index.ts";
import { type Printable, printJson } from "../wire/index.ts";
import { hostEvents } from "./host/index.ts";
import type { Unlinked } from "./link.ts";
import { isBag, printWit } from "./values.ts";
import { noted, updated, wasmCall, wasmError, wasmResult } from "./wasm-events.ts";

type Get = ContentStore["get"];
type Bag = { readonly [key: string]: Json };

/** More of a guest's state is not repeated in each of its events: its numbers alone would take sixteen times as much. */
const STATE_BYTES = 1_048_576;
const LONGEST = 2 ** 31;

const bytesOf = (value: Printable): Uint8Array => Uint8Array.from(printJson(value, LONGEST));
const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);
const textIn = (bag: Bag, name: string): string => (typeof bag[name] === "string" ? bag[name] : "");

/** What a record says of a content that was collected: nothing. */
async function valueOf(kept: Json | undefined, get: Get): Promise<WitValue> {
  try {
    return kept === undefined ? undefined : await unkept(kept, get);
  } catch (error) {
    if (error instanceof ContentGone || error instanceof TypeError) return undefined;
    throw error;
  }
}

const valuesOf = (kept: readonly Json[], get: Get): Promise<readonly WitValue[]> => Promise.all(kept.map((one) => valueOf(one, get)));

/** What one event of a guest was: its call, what its host did for it, and how it ended. */
export async function guestEvents(header: Header, body: Body, state: Json | undefined, get: Get): Promise<readonly Unlinked[]> {
  const { record } = body;
  const call = isBag(record) ? record["call"] : undefined;
  if (!isBag(record) || !isBag(call)) return withoutCall(header, body);
  const exported = textIn(call, "export");
  const name = `theater:simple/${exported}`;
  const did: Unlinked[] = [];
  for (const one of listOf(record["did"])) did.push(...(await hostCalls(one, header.at, get)));
  return [
    wasmCall(name, bytesOf((await valuesOf(listOf(call["params"]), get)).map(printWit))),
    ...did,
    record["end"] === "ok"
      ? await result(name, exported, record["back"], state, get)
      : wasmError(name, textIn(record, "message") || `It ended: ${textIn(record, "end")}.`),
  ];
}

/** One host call, or, of a call that made many, the first of them, which are kept apart: `{ calls, kept }`. */
async function hostCalls(told: Json, at: number, get: Get): Promise<readonly Unlinked[]> {
  if (!isBag(told)) return [];
  const apart = told["kept"];
  if (!isBag(apart))
    return hostEvents(textIn(told, "name"), await valuesOf(listOf(told["args"]), get), await valueOf(told["result"], get), at);
  const bytes = await get(textIn(apart, "digest"));
  if (bytes === undefined) return [noted(`${JSON.stringify(told["calls"] ?? null)} host calls that are no longer kept`)];
  const calls: Json = JSON.parse(Buffer.from(bytes).toString());
  const events: Unlinked[] = [];
  for (const call of listOf(calls)) if (isBag(call) && !isBag(call["kept"])) events.push(...(await hostCalls(call, at, get)));
  return events;
}

/** Those that give something besides the state. */
const GIVING: ReadonlySet<string> = new Set(["message-server-client.handle-request", "message-server-client.handle-channel-open"]);

async function result(name: string, exported: string, back: Json | undefined, state: Json | undefined, get: Get): Promise<Unlinked> {
  const gave = GIVING.has(exported) ? [printWit(await valueOf(back, get))] : null;
  const { bytes, missing } = await stateBytes(state, get);
  return wasmResult(name, bytes, bytesOf(gave), missing);
}

async function stateBytes(state: Json | undefined, get: Get): Promise<{ readonly bytes: Uint8Array | null; readonly missing?: string }> {
  if (!isBag(state)) return { bytes: null, missing: "its state is not known: an event before was erased" };
  const digest = state["state"];
  if (typeof digest !== "string") return { bytes: null };
  const bytes = await get(digest);
  if (bytes === undefined) return { bytes: null, missing: `its state ${digest} is no longer kept` };
  if (bytes.length > STATE_BYTES) return { bytes: null, missing: `its state ${digest} of ${bytes.length} bytes is left out` };
  return { bytes };
}

/** Events that called nothing in the guest. */
function withoutCall({ type }: Header, { message }: Body): readonly Unlinked[] {
  const args = isBag(message) && isBag(message["args"]) ? message["args"] : {};
  if (type === "update") return updated(textIn(args, "origin") || textIn(args, "component"));
  return [noted(type)];
}
