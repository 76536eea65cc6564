import { TroupeError } from "../contract/index.ts";
import { nameOf, shapeOf } from "../contract/internal.ts";
import { withFramesOf } from "./bad-turn.ts";

/** For the server's log: says what broke, and never what the author's code said, which may hold state. */
export function broken(what: string, word: string, cause: unknown, misfit?: string): TroupeError {
  if (cause instanceof TroupeError && cause.code === "OUT_OF_ORDER") return cause;
  const error = new TroupeError(
    "OUT_OF_ORDER",
    `${what} is out of order: its \`${word}\` threw ${nameOf(cause)}${misfit === undefined ? "" : `, and ${misfit}`}. Mend it; the rest works.`,
    {
      cause,
    },
  );
  // Where to look is where the author's code threw, not here.
  return cause instanceof Error ? withFramesOf(cause, error) : error;
}

/** Thrown where the author's code gave what it cannot give. */
export function misgiven(what: string, word: string, given: unknown, wanted: string): TroupeError {
  return new TroupeError("OUT_OF_ORDER", `${what} is out of order: its \`${word}\` gave ${shapeOf(given)}: give ${wanted}.`);
}
