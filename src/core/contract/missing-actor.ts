import type { Reply } from "./actor.ts";
import { EngineError } from "./errors.ts";

/** The refusal that stands for a fault because there is no such actor, or it has stopped. Undefined for every other fault. */
export const missingActorRefusal = (fault: unknown): Extract<Reply, { readonly refused: unknown }> | undefined =>
  fault instanceof EngineError && fault.applied === false && (fault.code === "NO_ACTOR" || fault.code === "ACTOR_STOPPED")
    ? { refused: { code: fault.code, message: fault.message } }
    : undefined;
