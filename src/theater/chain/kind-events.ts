import type { Body, Header, Json } from "../../contract/index.ts";
import type { Unlinked } from "./link.ts";
import { isBag } from "./values.ts";
import { wasmCall, wasmError, wasmResult } from "./wasm-events.ts";

const bytesOf = (value: Json | undefined): Uint8Array => Uint8Array.from(Buffer.from(JSON.stringify(value ?? null)));

/** What one event of an actor that is no guest was: a call by the name `kind.action`, its arguments, state and reply as JSON. */
export function kindEvents(kind: string, { type }: Header, { message, reply }: Body, state: Json | undefined): readonly Unlinked[] {
  const name = `${kind}.${type}`;
  const refused = isBag(reply) ? reply["refused"] : undefined;
  return [
    wasmCall(name, bytesOf(isBag(message) ? message["args"] : null)),
    isBag(refused)
      ? wasmError(name, [refused["code"], refused["message"]].filter((one) => typeof one === "string").join(": "))
      : wasmResult(
          name,
          state === undefined ? null : bytesOf(state),
          bytesOf(isBag(reply) ? reply["ok"] : null),
          state === undefined ? "its state is not known: an event before was erased" : undefined,
        ),
  ];
}
