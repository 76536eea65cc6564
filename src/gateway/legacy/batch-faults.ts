import { Fault, type Sayings, wireError } from "../errors.ts";
import type { Incoming } from "../json-rpc.ts";

/** Of a batch that is empty or too long. */
export function notOfSize(length: number, most: number): Fault {
  return new Fault("INVALID_REQUEST", `A batch has 1 to ${most} messages.`, length === 0 ? { reason: "batch-empty" } : undefined);
}

/** Throws where one of its messages is none: the batch is then answered as a whole. */
export function refuseWhole(batch: readonly Incoming[], sayings: Sayings): void {
  for (const [at, one] of batch.entries())
    if (one.kind === "malformed")
      throw new Fault("INVALID_REQUEST", one.fault.message, {
        reason: "batch-element",
        about: `batch element ${at}: ${wireError(one.fault, "legacy", sayings).message.replace(/^Parse error: /, "")}`,
      });
}

/** One after the other. */
export async function inTurn<T, R>(all: readonly T[], run: (one: T) => Promise<R>): Promise<readonly R[]> {
  const done: R[] = [];
  for (const one of all) done.push(await run(one));
  return done;
}
