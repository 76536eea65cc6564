// Owns: bounding the memory and tables of a core module, and counting what an instance holds outside its memory.
import { memoize } from "../../../core/contract/internal.ts";
import { WasmError } from "../wasm-error.ts";
import {
  coreSections,
  type CoreSignature,
  type Limits,
  readCoreFunctionType,
  readCoreValueType,
  readElementType,
  readLimits,
  SECTION,
} from "./core-module.ts";
import type { ByteReader } from "./reader.ts";
import type { Component } from "./component.ts";

/** Of all tables together. An element takes 8 to 16 bytes outside the memory that is counted. */
const MAX_ELEMENTS = 100_000;
const MAX_TABLES = 16;
/** How far a table without a maximum may grow. */
const GROWTH = 1_000;

interface BoundedTable {
  readonly element: number;
  readonly min: number;
  readonly max: number;
}

const limitError = (why: string): WasmError => new WasmError("MEMORY_LIMIT", why);

/** Reads a table section, and gives each table the maximum that it may have here. Throws `WasmError` MEMORY_LIMIT. */
function readTables(body: ByteReader): readonly BoundedTable[] {
  const count = body.count();
  if (count > MAX_TABLES) throw limitError(`The module has ${count} tables, and it may have ${MAX_TABLES}.`);
  const declared = Array.from({ length: count }, () => {
    if (body.bytes[body.at] === 0x40)
      throw limitError("The module has a table with an initial element: build it without typed references.");
    return { element: readElementType(body), ...readLimits(body, "table") };
  });
  const initial = declared.reduce((sum, { min }) => sum + min, 0);
  if (initial > MAX_ELEMENTS)
    throw limitError(`The module begins with ${initial} elements in its tables, and they may have ${MAX_ELEMENTS} together.`);
  let growth = MAX_ELEMENTS - initial;
  return declared.map(({ element, min, max = min + GROWTH }) => {
    const most = Math.min(max, min + growth);
    growth -= most - min;
    return { element, min, max: most };
  });
}

/** A number takes at most 16 bytes. A reference may be to an exception with its values, and then takes 1,100. */
const NUMBER_BYTES = 16;
const REFERENCE_BYTES = 1_200;
const MAX_REFERENCES = 1_000;

const END = 0x0b;
const F32 = 0x43;
const F64 = 0x44;
const SIMD = 0xfd;
/** Instructions with one LEB128 operand: constants, global.get, ref.null, ref.func, and the garbage collection prefix. */
const WITH_LEB_OPERAND: ReadonlySet<number> = new Set([0x41, 0x42, 0x23, 0xd0, 0xd2, 0xfb]);
const ARITHMETIC: ReadonlySet<number> = new Set([0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e]);

/** Skips any LEB128. The compiler checks its value. */
function skipNumber(body: ByteReader): void {
  while (body.u8() >= 0x80);
}

function skipConstantExpression(body: ByteReader): void {
  for (let code = body.u8(); code !== END; code = body.u8()) {
    if (WITH_LEB_OPERAND.has(code)) skipNumber(body);
    else if (code === F32) body.part(4);
    else if (code === F64) body.part(8);
    else if (code === SIMD) {
      skipNumber(body);
      body.part(16);
    } else if (!ARITHMETIC.has(code)) throw body.damaged("the first value of a global is not constant");
  }
}

/** The bytes that a section of globals takes outside the bounded memory. Throws `WasmError`. */
function globalBytes(body: ByteReader): number {
  const count = body.count();
  let references = 0;
  for (let left = count; left > 0; left -= 1) {
    if (readCoreValueType(body) === "reference") references += 1;
    body.u8();
    skipConstantExpression(body);
  }
  if (references > MAX_REFERENCES)
    throw new WasmError(
      "MEMORY_LIMIT",
      `The module has ${references} globals that hold references, and it may have ${MAX_REFERENCES}: build it with numbers in its globals.`,
    );
  return count * NUMBER_BYTES + references * REFERENCE_BYTES;
}

const PAGE = 65_536;
const MAX_EXCEPTION_VALUES = 16;

function encodeLeb(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80);
    left = Math.floor(left / 0x80);
  }
  return [...bytes, left];
}

const encodeLimits = ({ min, max }: Limits, most: number): number[] => [1, ...encodeLeb(min), ...encodeLeb(Math.min(max ?? most, most))];

const encodeSection = (id: number, content: readonly number[]): number[] => [id, ...encodeLeb(content.length), ...content];

function cappedMemory(body: ByteReader, maxBytes: number): number[] {
  const count = body.count();
  if (count > 1) throw limitError(`The module has ${count} memories, and a guest has one: build it without the multi-memory proposal.`);
  if (count === 0) return [0];
  const declared = readLimits(body, "memory");
  const pages = Math.floor(maxBytes / PAGE);
  if (declared.min > pages)
    throw limitError(
      `The module begins with ${declared.min * PAGE} bytes of memory, and it may have ${maxBytes}: raise memory_mb in its manifest up to what the operator allows, or build it for less.`,
    );
  return [1, ...encodeLimits(declared, pages)];
}

const cappedTables = (body: ByteReader): number[] => {
  const found = readTables(body);
  return [found.length, ...found.flatMap(({ element, min, max }) => [element, 1, ...encodeLeb(min), ...encodeLeb(max)])];
};

/** Refuses exceptions that carry references: they could form chains of exceptions, outside the memory. */
function checkTags(body: ByteReader, types: readonly CoreSignature[]): void {
  for (let left = body.count(); left > 0; left -= 1) {
    body.u8();
    const values = types[body.u32()]?.params ?? [];
    if (values.length > MAX_EXCEPTION_VALUES || values.includes("reference"))
      throw limitError(
        `The module throws exceptions of more than ${MAX_EXCEPTION_VALUES} values, or with references: build it with numbers alone.`,
      );
  }
}

function refuseImported(body: ByteReader): void {
  for (let left = body.count(); left > 0; left -= 1) {
    body.name();
    body.name();
    const sort = body.u8();
    if (sort !== 0) throw limitError("The module imports a memory, a table, a global or a tag: build it to have its own.");
    body.u32();
  }
}

function refuseMemories(body: ByteReader): number[] {
  const count = body.count();
  if (count > 0) throw limitError("The component has several memories, and a guest has one: link it of one module with a memory.");
  return [count];
}

interface SectionRules {
  readonly imports: (body: ByteReader) => void;
  readonly memories: (body: ByteReader) => readonly number[];
}

function rewrite(module: Uint8Array, rules: SectionRules): Uint8Array<ArrayBuffer> {
  const types: CoreSignature[] = [];
  const pieces: Uint8Array[] = [];
  let copied = 0;
  const replace = (from: number, to: number, bytes: readonly number[]): void => {
    pieces.push(module.subarray(copied, from), Uint8Array.from(bytes));
    copied = to;
  };
  for (const { id, from, to, body } of coreSections(module)) {
    if (id === SECTION.types) for (let left = body.count(); left > 0; left -= 1) types.push(readCoreFunctionType(body));
    else if (id === SECTION.imports) rules.imports(body);
    else if (id === SECTION.tables) replace(from, to, encodeSection(id, cappedTables(body)));
    else if (id === SECTION.memories) replace(from, to, encodeSection(id, rules.memories(body)));
    else if (id === SECTION.globals) globalBytes(body);
    else if (id === SECTION.tags) checkTags(body, types);
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
 * Rewrites a core module so that its memory has at most `maxBytes` (rounded down to pages of 65,536), and its tables together at
 * most 100,000 elements. Throws `WasmError` MEMORY_LIMIT if it starts with more, imports a memory, table, global or tag, has
 * several, shared or 64-bit memories, or holds objects outside its memory; BAD_COMPONENT if it cannot be read.
 */
export const capMemory = (module: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> =>
  rewrite(module, { imports: refuseImported, memories: (body) => cappedMemory(body, maxBytes) });

/**
 * Bounds the tables of a core module that is linked with the main one and uses its memory, as `capMemory` does.
 * Throws `WasmError` MEMORY_LIMIT if it has a memory of its own; BAD_COMPONENT if it cannot be read.
 */
export const capTables = (module: Uint8Array): Uint8Array<ArrayBuffer> =>
  rewrite(module, { imports: (body) => void body.rest(), memories: refuseMemories });

/** A worker's heap is half as large as the memories of its instances, so bytes in the heap count four times. */
const WEIGHT = 4;
const FUNCTION_BYTES = 64;
const ELEMENT_BYTES = 16;

/** What an instance holds outside its memory (tables, functions, globals), converted to bytes of memory. Throws `WasmError`. */
export const bytesOutsideMemory = memoize(({ module, glue }: Component): number =>
  [module, ...Object.values(glue?.modules ?? {})].reduce((sum, each) => sum + moduleBytesOutside(each), 0),
);

function moduleBytesOutside(module: Uint8Array): number {
  let bytes = 0;
  for (const { id, body } of coreSections(module)) {
    if (id === SECTION.functions) bytes += body.count() * FUNCTION_BYTES;
    else if (id === SECTION.tables) bytes += readTables(body).reduce((sum, { max }) => sum + max * ELEMENT_BYTES, 0);
    else if (id === SECTION.globals) bytes += globalBytes(body);
    body.rest();
  }
  return bytes * WEIGHT;
}
