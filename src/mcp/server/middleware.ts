import type { OfferRef } from "../../core/contract/index.ts";
import type { ServerContext } from "./context.ts";

/** One run of a handler, as what stands around it sees it. */
export interface Handling {
  /** `tools/echo`, `resources/note`, `prompts/greet`. */
  readonly offer: OfferRef;
  /** As the handler gets them: checked, and what a schema made of them. */
  readonly args: unknown;
  readonly context: ServerContext;
}

/** Runs around handlers. What it returns is the result; what it throws, as if the handler had. Not calling `next` spares the handler. */
export type Middleware = (handling: Handling, next: () => Promise<unknown>) => unknown;

/** The first is outermost. */
export function around(all: readonly Middleware[], handling: Handling, handler: () => unknown): Promise<unknown> {
  const from = async (position: number): Promise<unknown> => {
    const one = all[position];
    return one === undefined ? handler() : one(handling, () => from(position + 1));
  };
  return from(0);
}
