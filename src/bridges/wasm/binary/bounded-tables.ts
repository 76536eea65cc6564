import { WasmError } from "../wasm-error.ts";
import { limits, tableElement } from "./core-types.ts";
import type { Reader } from "./reader.ts";

/** Of all tables together: an element is 8 to 16 bytes of the process, outside the memory that is counted. */
const MAX_ELEMENTS = 100_000;
const MAX_TABLES = 16;
/** How far one grows that names no maximum. */
const GROWTH = 1_000;

interface BoundedTable {
  readonly element: number;
  readonly min: number;
  readonly max: number;
}

const refused = (why: string): WasmError => new WasmError("MEMORY_LIMIT", why);

/** A section of tables, as large as they may become here. Throws `WasmError` MEMORY_LIMIT. */
export function boundedTables(body: Reader): readonly BoundedTable[] {
  const count = body.count();
  if (count > MAX_TABLES) throw refused(`The module has ${count} tables, and it may have ${MAX_TABLES}.`);
  const declared = Array.from({ length: count }, () => {
    if (body.bytes[body.at] === 0x40) throw refused("The module has a table with an initial element: build it without typed references.");
    return { element: tableElement(body), ...limits(body, "table") };
  });
  const begun = declared.reduce((sum, { min }) => sum + min, 0);
  if (begun > MAX_ELEMENTS)
    throw refused(`The module begins with ${begun} elements in its tables, and they may have ${MAX_ELEMENTS} together.`);
  let growth = MAX_ELEMENTS - begun;
  return declared.map(({ element, min, max = min + GROWTH }) => {
    const most = Math.min(max, min + growth);
    growth -= most - min;
    return { element, min, max: most };
  });
}
