// Owns: checking grants: whether they cover a component's imports, whether a child's exceed its parent's, and which variables they expose.
import type { Component } from "../component/component.ts";
import { WasmError } from "../wasm-error.ts";
import { type ImportInterface, isImportInterface } from "../component/world.ts";
import type { Grants } from "./manifest.ts";

/** The grant that an interface requires: its field in `Grants`, and the handler's `type` in TOML. */
const HANDLER_OF: Readonly<Record<ImportInterface, { readonly grant: keyof Grants; readonly handler: string }>> = {
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

export const isGranted = (of: ImportInterface, grants: Grants): boolean => grants[HANDLER_OF[of].grant] !== undefined;

function importsByInterface({ imports }: Component): ReadonlyMap<ImportInterface, readonly string[]> {
  const found = new Map<ImportInterface, string[]>();
  for (const { name } of imports) {
    const dot = name.indexOf(".");
    const of = name.slice(0, dot);
    if (isImportInterface(of)) found.set(of, [...new Set([...(found.get(of) ?? []), name.slice(dot + 1)])]);
  }
  return found;
}

/** Throws `WasmError` NOT_GRANTED. The message says what to add to the manifest. */
export function checkGranted(component: Component, grants: Grants): void {
  const missing = [...importsByInterface(component)].filter(([of]) => !isGranted(of, grants));
  if (missing.length === 0) return;
  const imports = missing.map(([of, functions]) => `${component.package}/${of} (${functions.join(", ")})`).join(" and ");
  const toml = missing.map(([of]) => `[[handlers]]\ntype = "${HANDLER_OF[of].handler}"`).join("\n\n");
  throw new WasmError(
    "NOT_GRANTED",
    `The component imports ${imports}, and its manifest does not grant it. Add to the manifest:\n\n${toml}\n`,
  );
}

type Granted<K extends keyof Grants> = NonNullable<Grants[K]>;

const environmentWithin = (child: Granted<"environment">, parent: Granted<"environment">): boolean =>
  child.allowed.every((name) => parent.allowed.includes(name) || parent.prefixes.some((prefix) => name.startsWith(prefix))) &&
  child.prefixes.every((name) => parent.prefixes.some((prefix) => name.startsWith(prefix))) &&
  (!child.listAll || parent.listAll) &&
  parent.denied.every((name) => child.denied.includes(name));

// A private directory exceeds nothing.
const filesystemWithin = (child: Granted<"filesystem">, parent: Granted<"filesystem">): boolean =>
  (child.path === undefined || child.path === parent.path) && (!child.write || parent.write);

const timingWithin = (child: Granted<"timing">, parent: Granted<"timing">): boolean =>
  child.minSleepMs >= parent.minSleepMs && child.maxSleepMs <= parent.maxSleepMs;

const randomWithin = (child: Granted<"random">, parent: Granted<"random">): boolean =>
  child.maxBytes <= parent.maxBytes && child.maxInt <= parent.maxInt;

const httpClientWithin = (child: Granted<"httpClient">, parent: Granted<"httpClient">): boolean =>
  parent.allowed.includes("*") || child.allowed.every((entry) => parent.allowed.includes(entry));

/** Whether a grant of the child is covered by that of its parent. `holds` is called if both have it. */
const isWithin = <T>(child: T | undefined, parent: T | undefined, holds: (child: T, parent: T) => boolean = () => true): boolean =>
  child === undefined || (parent !== undefined && holds(child, parent));

/** By the names in manifests. */
const CHECKS: Readonly<Record<string, (child: Grants, parent: Grants) => boolean>> = {
  "message-server": (child, parent) => isWithin(child.messageServer, parent.messageServer),
  supervisor: (child, parent) => isWithin(child.supervisor, parent.supervisor),
  store: (child, parent) => isWithin(child.store, parent.store),
  timing: (child, parent) => isWithin(child.timing, parent.timing, timingWithin),
  random: (child, parent) => isWithin(child.random, parent.random, randomWithin),
  environment: (child, parent) => isWithin(child.environment, parent.environment, environmentWithin),
  filesystem: (child, parent) => isWithin(child.filesystem, parent.filesystem, filesystemWithin),
  "http-client": (child, parent) => isWithin(child.httpClient, parent.httpClient, httpClientWithin),
};

/** The name of a grant that the child has beyond its parent; undefined if there is none. */
export const excessGrantOf = (child: Grants, parent: Grants): string | undefined =>
  Object.keys(CHECKS).find((name) => CHECKS[name]?.(child, parent) === false);

/** The environment variables that a grant exposes, by name and by prefix. An empty prefix exposes nothing. */
export function visibleVariables(
  grant: Grants["environment"],
  all: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  if (grant === undefined) return {};
  const { allowed, denied, prefixes } = grant;
  const visible = new Map<string, string>();
  for (const [name, value] of Object.entries(all)) {
    if (value === undefined || denied.includes(name)) continue;
    if (allowed.includes(name) || prefixes.some((prefix) => prefix !== "" && name.startsWith(prefix))) visible.set(name, value);
  }
  return Object.fromEntries(visible);
}

export const grantsVariables = ({ environment }: Grants): boolean =>
  environment !== undefined && (environment.allowed.length > 0 || environment.prefixes.length > 0);

/** Whether it exposes parts of the machine: a directory or variables. */
export const exposesMachine = (grants: Grants): boolean => grants.filesystem?.path !== undefined || grantsVariables(grants);
