import { sha256 } from "../../../core/chain/index.ts";
import { type Body, type Header, isJsonObject, type Json } from "../../../core/contract/index.ts";
import { MAX_STATE_BYTES, MAX_VALUE_BYTES } from "./told-lengths.ts";
import type { UnlinkedEvent } from "./link.ts";
import { wasmCall, wasmError, wasmResult } from "./wasm-events.ts";

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
