// Owns: queries that the user saved or ran, in this browser. Does not own: running them (../query.tsx).
import { signal } from "@preact/signals";
import { isObject, textIn } from "../../json.ts";
import { readStored, writeStored } from "../../stored.ts";
import type { NamedQuery } from "./examples.ts";

const SAVED = "troupe-console-saved-queries";
const HISTORY = "troupe-console-query-history";
const MAX_SAVED = 200;
const MAX_HISTORY = 50;
/** A longer one is not stored. */
const MAX_LENGTH = 20_000;

export const savedQueries = signal<readonly NamedQuery[]>(read(SAVED));
/** The newest first. */
export const history = signal<readonly NamedQuery[]>(read(HISTORY));

/** A query of the same title is replaced. */
export function saveQuery(query: NamedQuery): void {
  const others = savedQueries.value.filter(({ title }) => title !== query.title);
  savedQueries.value = [...others, query].toSorted((a, b) => a.title.localeCompare(b.title)).slice(0, MAX_SAVED);
  writeStored(SAVED, savedQueries.value);
}

export function forgetQuery(title: string): void {
  savedQueries.value = savedQueries.value.filter((one) => one.title !== title);
  writeStored(SAVED, savedQueries.value);
}

export function noteRun(sql: string): void {
  if (sql.length > MAX_LENGTH) return;
  const title = sql.replaceAll(/\s+/g, " ").trim().slice(0, 120);
  history.value = [{ title, sql }, ...history.value.filter((one) => one.sql !== sql)].slice(0, MAX_HISTORY);
  writeStored(HISTORY, history.value);
}

export function clearHistory(): void {
  history.value = [];
  writeStored(HISTORY, []);
}

function read(name: string): readonly NamedQuery[] {
  const list = readStored(name);
  if (!Array.isArray(list)) return [];
  return list.slice(0, MAX_SAVED).flatMap((one: unknown) => {
    if (!isObject(one)) return [];
    const [title, sql] = [textIn(one, "title"), textIn(one, "sql")];
    return title === undefined || sql === undefined ? [] : [{ title, sql }];
  });
}
