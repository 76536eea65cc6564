import type { Component } from "../component.ts";
import type { Grants } from "../manifest.ts";
import { WasmError } from "../wasm-error.ts";
import type { ImportInterface } from "./interfaces.ts";
import { isImportInterface } from "./names.ts";

/** What grants an interface: the field of what was read of a manifest, and the handler's `type` in its TOML. */
const HANDLERS: Readonly<Record<ImportInterface, { readonly grant: keyof Grants; readonly handler: string }>> = {
  runtime: { grant: "runtime", handler: "runtime" },
  "message-server-host": { grant: "messageServer", handler: "message-server" },
  supervisor: { grant: "supervisor", handler: "supervisor" },
  store: { grant: "store", handler: "store" },
  timing: { grant: "timing", handler: "timing" },
  random: { grant: "random", handler: "random" },
  environment: { grant: "environment", handler: "environment" },
  filesystem: { grant: "filesystem", handler: "filesystem" },
  "http-client": { grant: "httpClient", handler: "http-client" },
};

function byInterface({ imports }: Component): ReadonlyMap<ImportInterface, readonly string[]> {
  const found = new Map<ImportInterface, string[]>();
  for (const { name } of imports) {
    const dot = name.indexOf(".");
    const of = name.slice(0, dot);
    if (isImportInterface(of)) found.set(of, [...new Set([...(found.get(of) ?? []), name.slice(dot + 1)])]);
  }
  return found;
}

/** Throws `WasmError` NOT_GRANTED, which says what to add to the manifest. */
export function checkGranted(component: Component, grants: Grants): void {
  const missing = [...byInterface(component)].filter(([of]) => grants[HANDLERS[of].grant] === undefined);
  if (missing.length === 0) return;
  const imports = missing.map(([of, functions]) => `${component.package}/${of} (${functions.join(", ")})`).join(" and ");
  const toml = missing.map(([of]) => `[[handlers]]\ntype = "${HANDLERS[of].handler}"`).join("\n\n");
  throw new WasmError(
    "NOT_GRANTED",
    `The component imports ${imports}, and its manifest does not grant it. Add to the manifest:\n\n${toml}\n`,
  );
}
