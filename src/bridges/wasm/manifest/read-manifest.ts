import { parse, TomlError, type TomlTable } from "smol-toml";
import type { Grants, Manifest } from "../manifest.ts";
import { ELSEWHERE, HANDLERS } from "./handlers.ts";
import { ManifestError } from "./manifest-error.ts";
import { Table } from "./table.ts";

/** Of its text. */
export const MANIFEST_BYTES = 65_536;

const DEEPEST = 16;
const NAME = 256;
const PROSE = 16_384;
const REFERENCE = 4_096;
const MEBIBYTE = 1_048_576;
const DAY_MS = 86_400_000;
const MOST_MEMORY_MB = 4_096;

/**
 * One of Theater's manifests, of any time: `component_path`, `component` or `package`; `init_state` or `initial_state`; `[[handlers]]` with a
 * `config`, or `[[handler]]` with their fields inline. Beyond those: `on_error` and `[limits]`. Other keys are ignored, as Theater
 * does. A directory of `filesystem` is left as it was written. Throws `ManifestError` with line and column.
 */
export function readManifest(text: string): Manifest {
  if (Buffer.byteLength(text) > MANIFEST_BYTES)
    throw new ManifestError(
      "TOO_LARGE",
      `A manifest has at most ${MANIFEST_BYTES} bytes, this has ${Buffer.byteLength(text)}. Shorten it.`,
    );
  const table = new Table(parsed(text), [], text);
  const name = table.string("name", NAME);
  if (name === undefined || name.trim() === "") throw table.wrong("name", 'A manifest names its actor; write name = "…" at its beginning.');
  const version = table.string("version", NAME);
  const description = table.string("description", PROSE);
  const component = oneOf(table, ["component", "component_path", "package"]);
  const initialState = oneOf(table, ["init_state", "initial_state"]);
  return {
    name,
    ...(version === undefined ? {} : { version }),
    ...(description === undefined ? {} : { description }),
    ...(component === undefined ? {} : { component }),
    ...(initialState === undefined ? {} : { initialState }),
    saveChain: table.flag("save_chain") ?? false,
    grants: grantsOf(table),
    onError: onError(table),
    limits: limitsOf(table),
    text,
  };
}

function parsed(text: string): TomlTable {
  try {
    return parse(text, { integersAsBigInt: "asNeeded", unsafeKeyBehaviour: "drop", maxDepth: DEEPEST });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of its message shows lines of the text, which may be a file that is no manifest.
    const [said = ""] = error.message.split("\n");
    const what = said.replace(/^Invalid TOML document: /u, "");
    throw new ManifestError("BAD_MANIFEST", `This is no TOML: ${what}. Mend it there.`, error);
  }
}

function oneOf(table: Table, keys: readonly string[]): string | undefined {
  let found: { readonly key: string; readonly value: string } | undefined;
  for (const key of keys) {
    const value = table.string(key, REFERENCE);
    if (value === undefined) continue;
    if (value === "") throw table.wrong(key, `${key} is empty; name a file, or store:<label>.`);
    if (found !== undefined && found.value !== value)
      throw table.wrong(key, `${found.key} and ${key} say different things; write one of them only.`);
    found = { key, value };
  }
  return found?.value;
}

function grantsOf(table: Table): Grants {
  // In April 2025 it was given to all, and could not be listed.
  const grants: Grants = table.keys().includes("component_path") ? { messageServer: true } : {};
  for (const handler of [...table.tables("handlers"), ...table.tables("handler")]) {
    const type = handler.string("type", NAME);
    const known = Object.keys(HANDLERS).join(", ");
    if (type === undefined) throw handler.wrong("type", `A handler has a type; write type = "…" with one of: ${known}.`);
    const grant = Object.hasOwn(HANDLERS, type) ? HANDLERS[type] : undefined;
    if (grant === undefined)
      throw handler.wrong(
        "type",
        Object.hasOwn(ELSEWHERE, type)
          ? (ELSEWHERE[type] ?? "")
          : `No handler here is called ${JSON.stringify(type)}; there are: ${known}.`,
      );
    grant(grants, handler.table("config") ?? handler);
  }
  return grants;
}

function onError(table: Table): Manifest["onError"] {
  const said = table.string("on_error", NAME) ?? "pause";
  if (said === "pause" || said === "restart") return said;
  throw table.wrong("on_error", 'on_error is "pause" (it waits for a restart) or "restart" (it goes on from its last state).');
}

function limitsOf(table: Table): Manifest["limits"] {
  const limits = table.table("limits");
  if (limits === undefined) return {};
  // This table is not Theater's: what is written in it is meant for us, and a limit that is misspelt would not hold.
  const strange = limits.keys().find((key) => key !== "call_ms" && key !== "memory_mb");
  if (strange !== undefined) throw limits.wrong(strange, `No limit is called ${JSON.stringify(strange)}; there are call_ms and memory_mb.`);
  const callMs = limits.whole("call_ms", 1, DAY_MS);
  const memory = limits.whole("memory_mb", 1, MOST_MEMORY_MB);
  return {
    ...(callMs === undefined ? {} : { callMs: Number(callMs) }),
    ...(memory === undefined ? {} : { memoryBytes: Number(memory) * MEBIBYTE }),
  };
}
