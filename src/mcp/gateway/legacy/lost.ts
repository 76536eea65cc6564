import { Fault } from "../errors.ts";

/** Why a reply that is asked for again never comes: nobody is there any more who could give it. */
export const lost = (): Fault =>
  new Fault(
    "UNAVAILABLE",
    "The process that ran this request gives no sign of life; whether it was applied is not known. Look, then ask again.",
    {
      data: { applied: "unknown" },
    },
  );
