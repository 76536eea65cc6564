import { inspect } from "node:util";

/** A value as an assertion's message shows it: enough to see what it is, however large. */
export const shown = (value: unknown): string => inspect(value, { depth: 6, maxArrayLength: 20, maxStringLength: 500, breakLength: 100 });
