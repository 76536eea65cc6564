// Pinned names: a change here is deliberate, or a bug.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const root = resolve(import.meta.dirname, "..");
const pins = join(import.meta.dirname, "public-api.txt");

/** Types vanish at run time: they are read from the index's text. */
const typeNames = (text: string): readonly string[] =>
  [...text.matchAll(/export\s*(type\s*)?\{([^}]*)\}/g)].flatMap((match) =>
    (match[2] ?? "")
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && (match[1] !== undefined || name.startsWith("type ")))
      .map((name) => `type ${name.replace(/^type /, "").replace(/^.* as /, "")}`),
  );

/** The composition root, and what package.json hides. */
const INTERNAL = new Set(["cli", "platform", "schema"]);

const entries = [
  "",
  ...readdirSync(join(root, "src")).filter((name) => !INTERNAL.has(name) && existsSync(join(root, "src", name, "index.ts"))),
].toSorted();

void test("the public names are the pinned ones", async () => {
  const lines: string[] = [];
  for (const entry of entries) {
    const file = join(root, "src", entry, "index.ts");
    const module: unknown = await import(pathToFileURL(file).href);
    assert.ok(typeof module === "object" && module !== null);
    const names = [...Object.keys(module), ...typeNames(readFileSync(file, "utf8"))].toSorted();
    lines.push(entry === "" ? "troupe" : `troupe/${entry}`, ...names.map((name) => `  ${name}`), "");
  }
  const found = lines.join("\n");
  if (process.env["UPDATE_PINS"] !== undefined) writeFileSync(pins, found);
  assert.equal(
    found,
    readFileSync(pins, "utf8"),
    "public names changed: if that is meant, run UPDATE_PINS=1 npm test once and say why in the commit",
  );
});
