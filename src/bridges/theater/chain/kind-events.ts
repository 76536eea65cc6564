import { sha256 } from "../../../core/chain/index.ts";
import { type Body, type Header, isJsonObject, type Json } from "../../../core/contract/index.ts";
import { STATE_BYTES, VALUE_BYTES } from "./told-lengths.ts";
import type { Unlinked } from "./link.ts";
import { wasmCall, wasmError, wasmResult } from "./wasm-events.ts";

interface Part {
  readonly bytes: Uint8Array;
  /** Why the bytes are omitted. */
  readonly missing?: string;
}

/** The JSON of a value. If it is too long, null and its digest. */
function part(what: string, value: Json | undefined, most: number): Part {
  const text = JSON.stringify(value ?? null);
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return { bytes };
  return { bytes: Buffer.from("null"), missing: `${what} ${sha256(text)} of ${bytes.length} bytes is left out` };
}

/** The events of an actor that is not a guest: a call named `kind.action`, with arguments, state and reply as JSON. */
export function kindEvents(kind: string, { type }: Header, { message, reply }: Body, state: Json | undefined): readonly Unlinked[] {
  const name = `${kind}.${type}`;
  const refused = isJsonObject(reply) ? reply["refused"] : undefined;
  const args = part("what it was given", isJsonObject(message) ? message["args"] : null, VALUE_BYTES);
  return [
    wasmCall(name, args.bytes, args.missing),
    isJsonObject(refused)
      ? wasmError(name, [refused["code"], refused["message"]].filter((one) => typeof one === "string").join(": "))
      : result(name, state, isJsonObject(reply) ? reply["ok"] : null),
  ];
}

function result(name: string, state: Json | undefined, reply: Json | undefined): Unlinked {
  const gave = part("its reply", reply, VALUE_BYTES);
  if (state === undefined)
    return wasmResult(name, null, gave.bytes, both("its state is not known: an event before was erased", gave.missing));
  const { bytes, missing } = part("its state", state, STATE_BYTES);
  return wasmResult(name, missing === undefined ? bytes : null, gave.bytes, both(missing, gave.missing));
}

const both = (...whys: readonly (string | undefined)[]): string | undefined =>
  whys.filter((why) => why !== undefined).join("; ") || undefined;
