// Owns: one run of a handler: its context, the middleware around it, and reports of its errors.
// Does not own: definitions (registries.ts), checking arguments and encoding results (mcp/source).
import {
  type JsonObject,
  type Entropy,
  type Json,
  type Log,
  type OfferRef,
  type Viewer,
  EngineError,
  TroupeError,
} from "../../core/contract/index.ts";
import { loggable, onTimeout, wellFormed } from "../../core/contract/internal.ts";
import { type HandlerContext, isOutcome, type Schema, Settled, settle } from "../source/index.ts";

/** What a handler has at hand: its arguments, and all of the call. */
export interface ServerContext<A = unknown> extends HandlerContext<A> {
  /** The id of this run, in every line that it logs. */
  readonly requestId: string;
  /**
   * Sends data to the client while the handler runs, as one step of progress whose message is the text, or the JSON of the data.
   * Clients that did not request progress, or do not read, get nothing.
   */
  readonly emit: (data: Json) => void;
}

/** Shared by all handlers of a server. */
export interface HandlerEnv {
  readonly entropy: Entropy;
  /** The server's own log. */
  readonly log: Log;
  readonly onError: OnError | undefined;
  readonly middleware: readonly Middleware[];
}

/** `emit` and `progress` share a counter: emitted data counts as a step after the last one. */
function serverContext<A>(
  context: HandlerContext<A>,
  ref: OfferRef,
  { entropy, log }: Pick<HandlerEnv, "entropy" | "log">,
): ServerContext<A> {
  const requestId = entropy.uuid();
  let reached = 0;
  return {
    ...context,
    requestId,
    emit(data) {
      reached += 1;
      // In code without types it may be undefined, which JSON does not have.
      const given = data ?? null;
      context.progress(reached, undefined, typeof given === "string" ? given : emittedText(given, ref), given);
    },
    progress(done, total, text, emitted) {
      if (done > reached) reached = done;
      context.progress(done, total, text, emitted);
    },
    log(level, data, logger) {
      context.log(level, data, logger);
      const about: JsonObject = { event: "handler", offer: ref, requestId, data: loggable(data) };
      log(level, logger === undefined ? about : { ...about, logger });
    },
  };
}

function emittedText(data: Json, ref: OfferRef): string {
  let json: string | undefined;
  let cause: unknown;
  try {
    json = JSON.stringify(data);
  } catch (error) {
    cause = error;
  }
  if (json !== undefined) return wellFormed(json);
  throw new EngineError("STATE_NOT_JSON", `What ${ref} emits is not JSON: use text, or plain values.`, { applied: "unknown", cause });
}

/** Identifies a run of a handler. */
export interface Run {
  readonly offer: OfferRef;
  readonly requestId: string;
  readonly viewer: Viewer;
}

/** Called with an error that is not a refusal, or with `WORK_TIMEOUT`. Does not change what the client gets. */
export type OnError = (error: unknown, run: Run) => void;

/** One run of a handler, as middleware sees it. */
export interface Handling {
  /** `tools/echo`, `resources/note`, `prompts/greet`. */
  readonly offer: OfferRef;
  /** What the handler gets, its `args` included. */
  readonly context: ServerContext;
}

/** Wraps a handler: its return value is the result, and its errors count as the handler's. If it does not call `next`, the handler does not run. */
export type Middleware = (handling: Handling, next: () => Promise<unknown>) => unknown;

/** The first is outermost. */
function runMiddleware(all: readonly Middleware[], run: Handling, handler: () => unknown): Promise<unknown> {
  const from = async (position: number): Promise<unknown> => {
    const one = all[position];
    return one === undefined ? handler() : one(run, () => from(position + 1));
  };
  return from(0);
}

// For the author of the handler, not for its caller.
const ADVICE = { text: 'Throw refuse("…") for what its caller should read.' };

const RESULTS = new Set<string>(["STATE_NOT_JSON", "BAD_TURN"]);

/** A handler as the registry calls it. */
export function handling<A>(
  offer: OfferRef,
  env: HandlerEnv,
  handler: (context: ServerContext<A>) => unknown,
  output?: Schema,
): (context: HandlerContext<A>) => Promise<unknown> {
  return async (given) => {
    const context = serverContext(given, offer, env);
    let timedOut = false;
    onTimeout(given, (error) => {
      timedOut = true;
      reportTimeout(env, error, { offer, requestId: context.requestId, viewer: given.viewer });
    });
    try {
      const returned = await runMiddleware(env.middleware, { offer, context }, () => handler(context));
      const made = settle(returned, offer, output);
      return new Settled(made instanceof Promise ? await made : made);
    } catch (error) {
      // An error of a cancelled handler is usually a consequence of the cancellation.
      const isCancelled = timedOut ? isAbort(error, context.signal) : context.signal.aborted;
      if (!isOutcome(error) && !isCancelled) report(env, error, { offer, requestId: context.requestId, viewer: given.viewer });
      throw error;
    }
  };
}

/** Whether the error only reports that the signal was aborted. */
function isAbort(error: unknown, { reason }: AbortSignal): boolean {
  return error === reason || (error instanceof Error && (error.name === "AbortError" || error.cause === reason));
}

function reportTimeout(env: HandlerEnv, error: EngineError, run: Run): void {
  const { offer, requestId } = run;
  env.log("error", { event: "handler-timeout", offer, requestId, code: error.code, text: error.message });
  notify(env, error, run);
}

function report(env: HandlerEnv, error: unknown, run: Run): void {
  const { offer, requestId } = run;
  // Only the name, since a message may quote arguments. Errors of results contain only paths and types.
  const name = error instanceof Error ? error.name : typeof error;
  const isResult = error instanceof TroupeError && RESULTS.has(error.code);
  const details = isResult ? { code: error.code, text: error.message } : ADVICE;
  env.log("error", { event: "handler-failed", offer, requestId, name, ...details });
  notify(env, error, run);
}

function notify({ log, onError }: HandlerEnv, error: unknown, run: Run): void {
  const { offer, requestId } = run;
  try {
    onError?.(error, run);
  } catch (second) {
    log("error", { event: "on-error-failed", offer, requestId, name: second instanceof Error ? second.name : typeof second });
  }
}
