import { TroupeError } from "../contract/index.ts";
import { withFramesOf } from "./bad-turn.ts";
import type { Act } from "./plan.ts";

/** What a client is told of an offer whose own `when` or `choices` fails. */
export function outOfOrder({ action }: Act): string {
  return `This ${action.slice(0, action.indexOf("/") - 1)} is out of order.`;
}

/** For the server's log: says what broke, and never what the author's code said, which may hold state. */
export function broken(what: string, word: string, cause: unknown): TroupeError {
  if (cause instanceof TroupeError && cause.code === "OUT_OF_ORDER") return cause;
  const name = cause instanceof Error ? cause.name.slice(0, 100) : `a ${typeof cause}`;
  const error = new TroupeError("OUT_OF_ORDER", `${what} is out of order: its \`${word}\` threw ${name}. Mend it; the rest works.`, {
    cause,
  });
  // Where to look is where the author's code threw, not here.
  return cause instanceof Error ? withFramesOf(cause, error) : error;
}

/** Thrown where the author's code gave what it cannot give. */
export function misgiven(what: string, word: string, given: unknown, wanted: string): TroupeError {
  return new TroupeError("OUT_OF_ORDER", `${what} is out of order: its \`${word}\` gave ${shapeOf(given)}: give ${wanted}.`);
}

function shapeOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  if (typeof given === "string") return "text";
  if (Array.isArray(given)) return `a list that holds ${shapeOf(given.find((item) => typeof item !== "string"))}`;
  if (typeof given === "object") return "then" in given ? "a promise" : "an object";
  return `a ${typeof given}`;
}
