// Owns: Theater's world: the interfaces that a guest may import and export, and their names.
import type { WitFunction, WitType } from "../wit.ts";

const BYTES: WitType = { list: "u8" };
const STATE: WitType = { option: BYTES };
const fallible = (ok?: WitType): WitType => ({ result: ok === undefined ? { err: "string" } : { ok, err: "string" } });
const STRINGS: WitType = { list: "string" };
const HEADERS: WitType = { list: { tuple: ["string", "string"] } };
const REF: WitType = { record: { hash: "string" } };
const CHAIN_EVENT: WitType = {
  record: { hash: BYTES, "parent-hash": { option: BYTES }, "event-type": "string", data: BYTES, timestamp: "u64" },
};
const CHAIN: WitType = {
  record: {
    events: {
      list: { record: { hash: "u64", event: { record: { "event-type": "string", parent: { option: "u64" }, data: BYTES } } } },
    },
  },
};
const ACTOR_ERROR: WitType = {
  record: {
    "error-type": {
      enum: [
        "operation-timeout",
        "channel-closed",
        "shutting-down",
        "function-not-found",
        "type-mismatch",
        "internal",
        "serialization-error",
        "update-component-error",
        "paused",
      ],
    },
    data: { option: BYTES },
  },
};
const COMMAND_RESULT: WitType = {
  variant: {
    success: { record: { stdout: "string", stderr: "string", "exit-code": "s32" } },
    error: { record: { message: "string" } },
  },
};
const HTTP_REQUEST: WitType = { record: { method: "string", uri: "string", headers: HEADERS, body: STATE } };
const HTTP_RESPONSE: WitType = { record: { status: "u16", headers: HEADERS, body: STATE } };

/** The type of an export. The state is the first parameter and the first result; `back` is the second result. */
const handler = (params: readonly WitType[], back?: WitType): WitFunction => ({
  params: { state: STATE, params: { tuple: params } },
  result: fallible({ tuple: back === undefined ? [STATE] : [STATE, { tuple: [back] }] }),
});

/** What a guest may import: interface → function. The package is `theater:simple`, before June 2025 `ntwk:theater`. */
export const IMPORTS = {
  runtime: {
    log: { params: { msg: "string" } },
    /** Theater's own host provides it, though its WIT does not declare it. */
    "get-state": { params: {}, result: STATE },
    "get-chain": { params: {}, result: CHAIN },
    shutdown: { params: { data: STATE }, result: fallible() },
  },
  "message-server-host": {
    send: { params: { "actor-id": "string", msg: BYTES }, result: fallible() },
    request: { params: { "actor-id": "string", msg: BYTES }, result: fallible(BYTES) },
    "open-channel": { params: { "actor-id": "string", "initial-msg": BYTES }, result: fallible("string") },
    "send-on-channel": { params: { "channel-id": "string", msg: BYTES }, result: fallible() },
    "close-channel": { params: { "channel-id": "string" }, result: fallible() },
    "list-outstanding-requests": { params: {}, result: STRINGS },
    "respond-to-request": { params: { "request-id": "string", response: BYTES }, result: fallible() },
    "cancel-request": { params: { "request-id": "string" }, result: fallible() },
  },
  supervisor: {
    spawn: { params: { manifest: "string", "init-bytes": STATE }, result: fallible("string") },
    resume: { params: { manifest: "string", "init-state": STATE }, result: fallible("string") },
    "list-children": { params: {}, result: STRINGS },
    "stop-child": { params: { "child-id": "string" }, result: fallible() },
    "restart-child": { params: { "child-id": "string" }, result: fallible() },
    "get-child-state": { params: { "child-id": "string" }, result: fallible(STATE) },
    "get-child-events": { params: { "child-id": "string" }, result: fallible({ list: CHAIN_EVENT }) },
  },
  store: {
    new: { params: {}, result: fallible("string") },
    store: { params: { "store-id": "string", content: BYTES }, result: fallible(REF) },
    get: { params: { "store-id": "string", "content-ref": REF }, result: fallible(BYTES) },
    exists: { params: { "store-id": "string", "content-ref": REF }, result: fallible("bool") },
    label: { params: { "store-id": "string", label: "string", "content-ref": REF }, result: fallible() },
    "get-by-label": { params: { "store-id": "string", label: "string" }, result: fallible({ option: REF }) },
    "remove-label": { params: { "store-id": "string", label: "string" }, result: fallible() },
    "remove-from-label": { params: { "store-id": "string", label: "string", "content-ref": REF }, result: fallible() },
    "store-at-label": { params: { "store-id": "string", label: "string", content: BYTES }, result: fallible(REF) },
    "replace-content-at-label": { params: { "store-id": "string", label: "string", content: BYTES }, result: fallible(REF) },
    "replace-at-label": { params: { "store-id": "string", label: "string", "content-ref": REF }, result: fallible() },
    "list-labels": { params: { "store-id": "string" }, result: fallible(STRINGS) },
    "list-all-content": { params: { "store-id": "string" }, result: fallible({ list: REF }) },
    "calculate-total-size": { params: { "store-id": "string" }, result: fallible("u64") },
  },
  timing: {
    now: { params: {}, result: "u64" },
    sleep: { params: { duration: "u64" }, result: fallible() },
    deadline: { params: { timestamp: "u64" }, result: fallible() },
  },
  random: {
    "random-bytes": { params: { length: "u32" }, result: fallible(BYTES) },
    "random-range": { params: { min: "u64", max: "u64" }, result: fallible("u64") },
    "random-float": { params: {}, result: fallible("f64") },
    "generate-uuid": { params: {}, result: fallible("string") },
  },
  environment: {
    "get-var": { params: { name: "string" }, result: { option: "string" } },
    "list-vars": { params: {}, result: { list: { tuple: ["string", "string"] } } },
    exists: { params: { name: "string" }, result: "bool" },
  },
  filesystem: {
    "read-file": { params: { path: "string" }, result: fallible(BYTES) },
    "write-file": { params: { path: "string", content: "string" }, result: fallible() },
    "list-files": { params: { path: "string" }, result: fallible(STRINGS) },
    "delete-file": { params: { path: "string" }, result: fallible() },
    "create-dir": { params: { path: "string" }, result: fallible() },
    "delete-dir": { params: { path: "string" }, result: fallible() },
    "path-exists": { params: { path: "string" }, result: fallible("bool") },
    "execute-command": { params: { dir: "string", command: "string", args: STRINGS }, result: fallible(COMMAND_RESULT) },
    "execute-nix-command": { params: { dir: "string", command: "string" }, result: fallible(COMMAND_RESULT) },
  },
  "http-client": { "send-http": { params: { req: HTTP_REQUEST }, result: fallible(HTTP_RESPONSE) } },
} as const satisfies Readonly<Record<string, Readonly<Record<string, WitFunction>>>>;

/** What a guest may export. `actor` is required. */
export const EXPORTS = {
  actor: { init: handler(["string"]) },
  "message-server-client": {
    "handle-send": handler([BYTES]),
    "handle-request": handler(["string", BYTES], STATE),
    "handle-channel-open": handler(["string", BYTES], { record: { accepted: "bool", message: STATE } }),
    "handle-channel-message": handler(["string", BYTES]),
    "handle-channel-close": handler(["string"]),
  },
  "supervisor-handlers": {
    "handle-child-error": handler(["string", ACTOR_ERROR]),
    "handle-child-exit": handler(["string", STATE]),
    "handle-child-external-stop": handler(["string"]),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, WitFunction>>>>;

/** In April 2025, `handle-channel-open` had no parameter for the channel's id. */
export const OLD_CHANNEL_OPEN: WitFunction = handler([BYTES], { record: { accepted: "bool", message: STATE } });

export type ImportInterface = keyof typeof IMPORTS;
type ExportInterface = keyof typeof EXPORTS;
/** `message-server-host.send` */
export type ImportName = { [I in ImportInterface]: `${I}.${keyof (typeof IMPORTS)[I] & string}` }[ImportInterface];
/** `message-server-client.handle-send` */
export type ExportName = { [I in ExportInterface]: `${I}.${keyof (typeof EXPORTS)[I] & string}` }[ExportInterface];

export type TheaterPackage = "theater:simple" | "ntwk:theater";

interface InterfaceName {
  readonly package: TheaterPackage;
  readonly interface: string;
}

/** Parses `theater:simple/actor`, with or without a version; undefined if it is not of Theater. */
export function interfaceName(name: string): InterfaceName | undefined {
  const [, of, last] = /^(theater:simple|ntwk:theater)\/([a-z][a-z0-9-]*)(?:@[0-9A-Za-z.+-]+)?$/.exec(name) ?? [];
  if (last === undefined || (of !== "theater:simple" && of !== "ntwk:theater")) return undefined;
  return { package: of, interface: last };
}

const byQualifiedName = (table: Readonly<Record<string, Readonly<Record<string, WitFunction>>>>): ReadonlyMap<string, WitFunction> =>
  new Map(Object.entries(table).flatMap(([of, functions]) => Object.entries(functions).map(([name, type]) => [`${of}.${name}`, type])));

/** Keys are qualified names: `message-server-host.send` */
export const importTypes = byQualifiedName(IMPORTS);
export const exportTypes = byQualifiedName(EXPORTS);

const isImportName = (name: string): name is ImportName => importTypes.has(name);
export const isExportName = (name: string): name is ExportName => exportTypes.has(name);
export const isImportInterface = (name: string): name is ImportInterface => Object.hasOwn(IMPORTS, name);
export const isExportInterface = (name: string): name is ExportInterface => Object.hasOwn(EXPORTS, name);

/** Parses a core export name like `theater:simple/actor#init`; undefined if Theater has no such export. */
export function exportNameOfCore(core: string): ExportName | undefined {
  const hash = core.indexOf("#");
  const full = `${interfaceName(core.slice(0, Math.max(hash, 0)))?.interface}.${core.slice(hash + 1)}`;
  return isExportName(full) ? full : undefined;
}

/** The qualified name of an imported function; undefined if Theater has no such function. */
export function importName(of: string, name: string): ImportName | undefined {
  const full = `${interfaceName(of)?.interface}.${name}`;
  return isImportName(full) ? full : undefined;
}
