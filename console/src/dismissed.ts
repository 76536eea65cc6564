// Owns: which findings the user of this browser has dismissed, until they occur again. Does not own: the findings (GET /overview).
import { signal } from "@preact/signals";
import type { Finding } from "../../src/bridges/console/shapes.ts";
import { isObject } from "./json.ts";
import { readStored, writeStored } from "./stored.ts";

const NAME = "troupe-console-dismissed";
const MOST = 100;

/** Name of a finding → how often, and when, it had occurred. */
type Dismissed = Readonly<Record<string, string>>;

const nameOf = ({ code, title }: Finding): string => `${code} ${title}`;
const occurrence = ({ count = 0, lastAt = 0 }: Finding): string => `${count} ${lastAt}`;

function read(): Dismissed {
  const stored = readStored(NAME);
  const known: Record<string, string> = {};
  for (const [name, value] of Object.entries(isObject(stored) ? stored : {})) if (typeof value === "string") known[name] = value;
  return known;
}

const dismissed = signal<Dismissed>(read());

function store(next: Dismissed): void {
  dismissed.value = next;
  writeStored(NAME, next);
}

export const isDismissed = (finding: Finding): boolean => dismissed.value[nameOf(finding)] === occurrence(finding);

export const dismiss = (finding: Finding): void =>
  store(Object.fromEntries([[nameOf(finding), occurrence(finding)], ...Object.entries(dismissed.value)].slice(0, MOST)));

export const restoreDismissed = (): void => store({});
