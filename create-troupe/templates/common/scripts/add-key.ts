// npm run key -- <name> [scope…]: makes an API key, prints it once, and writes its hash to keys.json.
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hashApiKey } from "troupe/transport";

const file = join(import.meta.dirname, "../keys.json");
const { values, positionals } = parseArgs({ options: { first: { type: "boolean" } }, allowPositionals: true });
const [name, ...scopes] = positionals;
if (name === undefined) throw new Error("Name the key's owner: npm run key -- ann");

const before: unknown = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
// With --first, only if there is no key yet.
if (before === undefined || values.first !== true) {
  const key = randomBytes(32).toString("hex");
  const keys = { ...(typeof before === "object" ? before : {}), [name]: { sha256: hashApiKey(key), scopes } };
  writeFileSync(file, `${JSON.stringify(keys, undefined, 2)}\n`, { mode: 0o600 });
  console.log(`The key of ${name}, printed only now:\n\n  ${key}\n\nClients send it as the header "Authorization: Bearer <key>".`);
  if (values.first !== true) console.log("Servers that run with --api-keys keys.json take it when they restart.");
}
