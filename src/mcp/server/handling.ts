import { type EngineError, type OfferRef, TroupeError } from "../../core/contract/index.ts";
import { onTimeout } from "../../core/contract/internal.ts";
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
    let late = false;
    onTimeout(given, (error) => {
      late = true;
      reportLate(surroundings, error, { offer, requestId: context.requestId, viewer: given.viewer });
    });
    try {
      const returned = await around(surroundings.middleware, { offer, args, context }, () => handler(args, context));
      const made = settle(returned, offer, output);
      return new Settled(made instanceof Promise ? await made : made);
    } catch (error) {
      // One that its caller left throws because it was told to.
      const heeds = late ? isAbort(error, context.signal) : context.signal.aborted;
      if (!isOutcome(error) && !heeds) report(surroundings, error, { offer, requestId: context.requestId, viewer: given.viewer });
      throw error;
    }
  };
}

/** What was thrown says no more than that the signal was heeded. */
function isAbort(error: unknown, { reason }: AbortSignal): boolean {
  return error === reason || (error instanceof Error && (error.name === "AbortError" || error.cause === reason));
}

function reportLate(surroundings: Surroundings, error: EngineError, run: Run): void {
  const { offer, requestId } = run;
  surroundings.log?.("error", { event: "handler-timeout", offer, requestId, code: error.code, text: error.message });
  tell(surroundings, error, run);
}

function report(surroundings: Surroundings, error: unknown, run: Run): void {
  const { offer, requestId } = run;
  // Its name only: a message may quote arguments. What is wrong with a result is told by paths and types.
  const name = error instanceof Error ? error.name : typeof error;
  const isResult = error instanceof TroupeError && RESULTS.has(error.code);
  const told = isResult ? { code: error.code, text: error.message } : ADVICE;
  surroundings.log?.("error", { event: "handler-failed", offer, requestId, name, ...told });
  tell(surroundings, error, run);
}

function tell({ log, onError }: Surroundings, error: unknown, run: Run): void {
  const { offer, requestId } = run;
  try {
    onError?.(error, run);
  } catch (second) {
    log?.("error", { event: "on-error-failed", offer, requestId, name: second instanceof Error ? second.name : typeof second });
  }
}
