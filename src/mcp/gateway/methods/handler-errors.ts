import { TroupeError } from "../../../core/contract/index.ts";
import type { Refusal } from "../call.ts";
import { Fault, faultOf } from "../errors.ts";
import type { Kind } from "./kinds.ts";

/** The same kind where what its handler throws or refuses is an error with that message, and never a result. */
export function withHandlerErrors(kind: Kind): Kind {
  return {
    ...kind,
    refuse({ code, message }: Refusal) {
      throw code === "INVALID" ? new Fault("PARAMS", `Invalid params: ${message}`) : new Fault("HANDLER", message);
    },
    fail(error, { ref, offer }) {
      if (error instanceof TroupeError && error.code === "WORK_TIMEOUT")
        throw new Fault("HANDLER", `${kindOf(ref)} "${offer.name}" timed out`);
      // What is the server's own trouble stays that: its message was written for nobody outside.
      throw error instanceof TroupeError && faultOf(error).kind === "FAILED" ? new Fault("HANDLER", messageOf(error)) : error;
    },
  };
}

const kindOf = (ref: string): string => ref.slice(0, ref.indexOf("/")).replace(/s$/, "");

/** What the handler itself said, not what the source made of it. */
function messageOf(error: TroupeError): string {
  return error.code === "CRASHED" && error.cause instanceof Error ? error.cause.message : error.message;
}
