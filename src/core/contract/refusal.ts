import type { Reply } from "./actor.ts";

/** On what `refuse` throws. Two copies of this package may meet in one process: `instanceof` would not know the other's. */
export const REFUSAL = Symbol.for("troupe.refusal");

/** Whether an author's code threw a refusal: an outcome like any other, of which the caller is told. */
export function isRefusal(error: unknown): error is Extract<Reply, { refused: unknown }>["refused"] {
  return typeof error === "object" && error !== null && REFUSAL in error;
}
