import { WasmError } from "../wasm-error.ts";
import { boundedTables } from "./bounded-tables.ts";
import { type CoreSignature, type Limits, coreSignature, limits } from "./core-types.ts";
import { globalBytes } from "./global-bytes.ts";
import { Reader } from "./reader.ts";
import { MODULE, preamble, sections } from "./sections.ts";

const PAGE = 65_536;
const MAX_THROWN = 16;

const TYPES = 1;
const IMPORTS = 2;
const TABLES = 4;
const MEMORIES = 5;
const GLOBALS = 6;
const TAGS = 13;

const refused = (why: string): WasmError => new WasmError("MEMORY_LIMIT", why);

function leb(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80);
    left = Math.floor(left / 0x80);
  }
  return [...bytes, left];
}

const capped = ({ min, max }: Limits, most: number): number[] => [1, ...leb(min), ...leb(Math.min(max ?? most, most))];

const section = (id: number, content: readonly number[]): number[] => [id, ...leb(content.length), ...content];

function memories(body: Reader, maxBytes: number): number[] {
  const count = body.count();
  if (count > 1) throw refused(`The module has ${count} memories, and a guest has one: build it without the multi-memory proposal.`);
  if (count === 0) return [0];
  const declared = limits(body, "memory");
  const pages = Math.floor(maxBytes / PAGE);
  if (declared.min > pages)
    throw refused(
      `The module begins with ${declared.min * PAGE} bytes of memory, and it may have ${maxBytes}: raise memory_mb in its manifest up to what the operator allows, or build it for less.`,
    );
  return [1, ...capped(declared, pages)];
}

const tables = (body: Reader): number[] => {
  const found = boundedTables(body);
  return [found.length, ...found.flatMap(({ element, min, max }) => [element, 1, ...leb(min), ...leb(max)])];
};

/** An exception that carries another makes chains of them, which live outside the memory. */
function checkTags(body: Reader, types: readonly CoreSignature[]): void {
  for (let left = body.count(); left > 0; left -= 1) {
    body.u8();
    const thrown = types[body.u32()]?.params ?? [];
    if (thrown.length > MAX_THROWN || thrown.includes("reference"))
      throw refused(`The module throws exceptions of more than ${MAX_THROWN} values, or with references: build it with numbers alone.`);
  }
}

function refuseImported(body: Reader): void {
  for (let left = body.count(); left > 0; left -= 1) {
    body.name();
    body.name();
    const sort = body.u8();
    if (sort !== 0) throw refused("The module imports a memory, a table, a global or a tag: build it to have its own.");
    body.u32();
  }
}

function refuseMemories(body: Reader): number[] {
  const count = body.count();
  if (count > 0) throw refused("The component has several memories, and a guest has one: link it of one module with a memory.");
  return [count];
}

interface Parts {
  readonly imports: (body: Reader) => void;
  readonly memories: (body: Reader) => readonly number[];
}

function rewritten(module: Uint8Array, parts: Parts): Uint8Array<ArrayBuffer> {
  const reader = new Reader(module);
  if (preamble(reader) !== MODULE) throw reader.bad("a core module does not begin as one");
  const types: CoreSignature[] = [];
  const pieces: Uint8Array[] = [];
  let copied = 0;
  const replace = (from: number, to: number, bytes: readonly number[]): void => {
    pieces.push(module.subarray(copied, from), Uint8Array.from(bytes));
    copied = to;
  };
  for (const { id, from, to, body } of sections(reader)) {
    if (id === TYPES) for (let left = body.count(); left > 0; left -= 1) types.push(coreSignature(body));
    else if (id === IMPORTS) parts.imports(body);
    else if (id === TABLES) replace(from, to, section(TABLES, tables(body)));
    else if (id === MEMORIES) replace(from, to, section(MEMORIES, parts.memories(body)));
    else if (id === GLOBALS) globalBytes(body);
    else if (id === TAGS) checkTags(body, types);
    else body.rest();
  }
  pieces.push(module.subarray(copied));
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * The same core module, its memory's maximum at most `maxBytes` (whole pages of 65,536) and that of its tables together
 * 100,000 elements. Throws `WasmError` MEMORY_LIMIT where it begins with more, imports what it should have itself, or has
 * more memories than one, shared or of 64 bits, or what lives outside it; BAD_COMPONENT where it cannot be read.
 */
export const capMemory = (module: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> =>
  rewritten(module, { imports: refuseImported, memories: (body) => memories(body, maxBytes) });

/**
 * The same core module, its tables bounded as by `capMemory`: one that is linked with another, whose memory it uses.
 * Throws `WasmError` MEMORY_LIMIT where it has one of its own; BAD_COMPONENT where it cannot be read.
 */
export const capTables = (module: Uint8Array): Uint8Array<ArrayBuffer> =>
  rewritten(module, { imports: (body) => void body.rest(), memories: refuseMemories });
