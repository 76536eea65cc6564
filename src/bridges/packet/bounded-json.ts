import type { Json } from "../../core/contract/index.ts";

export interface JsonBounds {
  /** Of it as JSON text, in UTF-8. */
  readonly maxBytes: number;
  /** Of lists and objects within each other. */
  readonly maxDepth: number;
}

/** A copy that is JSON and nothing else, or in words why it is too much. */
export function boundedJson(value: unknown, { maxBytes, maxDepth }: JsonBounds): { readonly json: Json } | { readonly tooMuch: string } {
  // Before it is made text: that goes down as deep as the value does, and ends in an overflow of the stack.
  if (isDeeper(value, maxDepth)) return { tooMuch: `is deeper than ${maxDepth} levels` };
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) return { json: null };
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) return { tooMuch: `is ${bytes} bytes as JSON, and ${maxBytes} are allowed` };
  const json: Json = JSON.parse(text);
  return { json };
}

function isDeeper(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      if (depth === maxDepth) return true;
      for (const inner of Object.values(one)) if (typeof inner === "object") next.push(inner);
    }
    level = next;
  }
  return false;
}
