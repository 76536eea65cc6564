import type { Bag, Entropy, Json, Log, OfferRef } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import type { HandlerContext } from "../source/index.ts";
import type { Middleware } from "./middleware.ts";
import type { OnError } from "./on-error.ts";

/** What a handler is given beside its arguments. */
export interface ServerContext extends HandlerContext {
  /** Of this run; in every line it logs. */
  readonly requestId: string;
  /**
   * Sent to the client while the handler runs, as one step of progress whose message is the text, or the JSON of the data.
   * Clients that asked for no progress, or do not read, are told nothing.
   */
  readonly emit: (data: Json) => void;
}

export interface Surroundings {
  readonly entropy: Entropy;
  /** The server's own log. */
  readonly log: Log | undefined;
  readonly onError: OnError | undefined;
  readonly middleware: readonly Middleware[];
}

/** `emit` and `progress` count together: what is emitted after a step goes beyond it. */
export function serverContext(
  context: HandlerContext,
  ref: OfferRef,
  { entropy, log }: Pick<Surroundings, "entropy" | "log">,
): ServerContext {
  const requestId = entropy.uuid();
  let reached = 0;
  return {
    ...context,
    requestId,
    emit(data) {
      reached += 1;
      context.progress(reached, undefined, typeof data === "string" ? data : wellFormed(JSON.stringify(data)), data);
    },
    progress(done, total, text, emitted) {
      if (done > reached) reached = done;
      context.progress(done, total, text, emitted);
    },
    log(level, data, logger) {
      context.log(level, data, logger);
      const about: Bag = { event: "handler", offer: ref, requestId, data };
      log?.(level, logger === undefined ? about : { ...about, logger });
    },
  };
}
