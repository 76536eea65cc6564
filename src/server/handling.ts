import { type OfferRef, TroupeError } from "../contract/index.ts";
import { type HandlerContext, isOutcome, type Schema, Settled, settle } from "../source/index.ts";
import { type ServerContext, serverContext, type Surroundings } from "./context.ts";
import { around } from "./middleware.ts";
import type { Run } from "./on-error.ts";

// For whoever wrote the handler, never for its caller.
const ADVICE = { text: 'Throw refuse("…") for what its caller should read.' };

const RESULTS = new Set<string>(["STATE_NOT_JSON", "BAD_TURN"]);

/** A handler as the registry calls it. */
export function handling<A>(
  offer: OfferRef,
  surroundings: Surroundings,
  handler: (args: A, context: ServerContext) => unknown,
  output?: Schema,
): (args: A, context: HandlerContext) => Promise<unknown> {
  return async (args, given) => {
    const context = serverContext(given, offer, surroundings);
    try {
      const returned = await around(surroundings.middleware, { offer, args, context }, () => handler(args, context));
      const made = settle(returned, offer, output);
      return new Settled(made instanceof Promise ? await made : made);
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
  // Its name only: a message may quote arguments. What is wrong with a result is told by paths and types.
  const name = error instanceof Error ? error.name : typeof error;
  const isResult = error instanceof TroupeError && RESULTS.has(error.code);
  const told = isResult ? { code: error.code, text: error.message } : ADVICE;
  log?.("error", { event: "handler-failed", offer, requestId, name, ...told });
  try {
    onError?.(error, run);
  } catch (second) {
    log?.("error", { event: "on-error-failed", offer, requestId, name: second instanceof Error ? second.name : typeof second });
  }
}
