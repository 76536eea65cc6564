import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";

export const keyOf = (name: string): string => `${name}-${"k".repeat(40)}`;

export const bearer = (name: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${keyOf(name)}` });

/** A file for `--api-keys` with a key for each name, and the scopes that go with it. */
export const writeKeys = (file: string, names: Readonly<Record<string, readonly string[]>>): string => {
  const keys = Object.entries(names).map(([name, scopes]) => [
    name,
    { sha256: createHash("sha256").update(keyOf(name)).digest("hex"), scopes },
  ]);
  writeFileSync(file, JSON.stringify(Object.fromEntries(keys)));
  return file;
};
