export type WasmCode =
  /** Not a component, damaged, or beyond what is read of one. */
  | "BAD_COMPONENT"
  /** Whole, but it lacks what Theater's world asks for, or has it with other types. */
  | "WRONG_WORLD"
  /** It may be one of Theater's world, but is linked in ways that only generated glue follows. */
  | "NEEDS_JCO"
  /** It imports what its manifest does not list. */
  | "NOT_GRANTED"
  /** Its memory or tables cannot be held to a limit, or begin above it. */
  | "MEMORY_LIMIT";

/** A guest's component that is not taken. The message says what to do instead. */
export class WasmError extends Error {
  override readonly name = "WasmError";
  readonly code: WasmCode;
  constructor(code: WasmCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a stranger wrote, fit for a message: one line of it, not too long. */
export function quoted(text: string): string {
  const short = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  return JSON.stringify(short.toWellFormed());
}
