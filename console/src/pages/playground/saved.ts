// Owns: calls that the user saved: in this browser, exported and imported as JSON. Does not own: running them (calls.ts).
import { signal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { isObject, objectIn, textIn } from "../../json.ts";
import { readStored, writeStored } from "../../stored.ts";
import type { Target, TargetKind } from "./calls.ts";
import { identityParameters } from "./connection.ts";

export interface SavedCall extends Target {
  /** What the user calls it. */
  readonly title: string;
  readonly arguments: JsonObject;
}

const NAME = "troupe-console-saved-calls";
const MAX_SAVED = 500;
const KINDS: readonly TargetKind[] = ["tool", "prompt", "resource"];

export const saved = signal<readonly SavedCall[]>(callsIn(readStored(NAME)) ?? []);

/** A call of the same title is replaced. */
export function save(call: SavedCall): void {
  store([...saved.value.filter(({ title }) => title !== call.title), call]);
}

export const forget = (title: string): void => store(saved.value.filter((one) => one.title !== title));

/** For `importCalls`, as JSON. */
export const exported = (): object => ({ troupeCalls: 1, calls: saved.value });

/** How many were read. Undefined: it is no such file. */
export function importCalls(text: string): number | undefined {
  const found = callsIn(parsed(text));
  if (found === undefined) return undefined;
  const titles = new Set(found.map(({ title }) => title));
  store([...saved.value.filter(({ title }) => !titles.has(title)), ...found]);
  return found.length;
}

function store(calls: readonly SavedCall[]): void {
  saved.value = calls.toSorted((a, b) => a.title.localeCompare(b.title)).slice(0, MAX_SAVED);
  writeStored(NAME, saved.value);
}

/** The calls of a stored list or an exported file. Undefined: it is neither. */
function callsIn(value: unknown): readonly SavedCall[] | undefined {
  const list: unknown = isObject(value) && value["troupeCalls"] === 1 ? value["calls"] : value;
  if (!Array.isArray(list)) return undefined;
  return list.slice(0, MAX_SAVED).flatMap((one: unknown) => {
    if (!isObject(one)) return [];
    const [title, name] = [textIn(one, "title"), textIn(one, "name")];
    const kind = KINDS.find((known) => known === one["kind"]);
    if (title === undefined || name === undefined || kind === undefined) return [];
    return [{ title, name, kind, arguments: objectIn(one, "arguments") }];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The address of the playground with this call filled in, connected as it is now. */
export function callPath({ kind, name }: Target, args?: JsonObject): string {
  const params = new URLSearchParams({ [kind]: name });
  if (args !== undefined && Object.keys(args).length > 0) params.set("args", JSON.stringify(args));
  for (const [part, value] of identityParameters()) params.set(part, value);
  return `/playground?${params.toString()}`;
}
