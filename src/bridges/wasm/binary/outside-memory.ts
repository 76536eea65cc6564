import type { Component } from "../component.ts";
import { boundedTables } from "./bounded-tables.ts";
import { globalBytes } from "./global-bytes.ts";
import { Reader } from "./reader.ts";
import { preamble, sections } from "./sections.ts";

/** A thread's heap is half as large as the memories it holds: what is in the heap counts four times. */
const WEIGHT = 4;
const FUNCTION_BYTES = 64;
const ELEMENT_BYTES = 16;

const FUNCTIONS = 3;
const TABLES = 4;
const GLOBALS = 6;

const known = new WeakMap<Component, number>();

/** What an instance holds outside its memory, its tables, functions and globals, in bytes of memory. Throws `WasmError`. */
export function outsideMemory(component: Component): number {
  const found = known.get(component);
  if (found !== undefined) return found;
  const modules = [component.module, ...Object.values(component.glue?.modules ?? {})];
  const bytes = modules.reduce((sum, module) => sum + outsideIn(module), 0);
  known.set(component, bytes);
  return bytes;
}

function outsideIn(module: Uint8Array): number {
  const reader = new Reader(module);
  preamble(reader);
  let bytes = 0;
  for (const { id, body } of sections(reader)) {
    if (id === FUNCTIONS) bytes += body.count() * FUNCTION_BYTES;
    else if (id === TABLES) bytes += boundedTables(body).reduce((sum, { max }) => sum + max * ELEMENT_BYTES, 0);
    else if (id === GLOBALS) bytes += globalBytes(body);
    body.rest();
  }
  return bytes * WEIGHT;
}
