import type { OfferRef } from "../contract/index.ts";
import { type HandlerContext, isOutcome } from "../source/index.ts";
import { type ServerContext, serverContext, type Surroundings } from "./context.ts";
import { around } from "./middleware.ts";
import type { Run } from "./on-error.ts";

/** A handler as the registry calls it. */
export function handling<A>(
  offer: OfferRef,
  surroundings: Surroundings,
  handler: (args: A, context: ServerContext) => unknown,
): (args: A, context: HandlerContext) => Promise<unknown> {
  return async (args, given) => {
    const context = serverContext(given, offer, surroundings);
    try {
      return await around(surroundings.middleware, { offer, args, context }, () => handler(args, context));
    } catch (error) {
      // One that was aborted throws because it was told to.
      if (!isOutcome(error) && !context.signal.aborted)
        report(surroundings, error, { offer, requestId: context.requestId, viewer: given.viewer });
      throw error;
    }
  };
}

function report({ log, onError }: Surroundings, error: unknown, run: Run): void {
  const { offer, requestId } = run;
  // Its name only: a message may quote arguments.
  log?.("error", { event: "handler-failed", offer, requestId, name: error instanceof Error ? error.name : typeof error });
  try {
    onError?.(error, run);
  } catch (second) {
    log?.("error", { event: "on-error-failed", offer, requestId, name: second instanceof Error ? second.name : typeof second });
  }
}
