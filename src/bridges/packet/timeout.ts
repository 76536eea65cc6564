import { TroupeError } from "../../core/contract/index.ts";

/** What a timeout strategy knows of an actor. Times in milliseconds since 1970. */
export interface ActorTimes {
  readonly created_at: number;
  readonly last_message_at: number;
  readonly message_count: number;
}

/** When an actor ends by itself. */
export type Timeout =
  /** After so long without a message. On disk its state stays, and the next message finds it as it was. */
  | { readonly ends: "idle"; readonly ms: number }
  /** So long after it began, whatever happens. */
  | { readonly ends: "lifetime"; readonly ms: number }
  | { readonly ends: "never" }
  /** Asked when it begins and after each message: in how many milliseconds; undefined or infinite for not at all. Pure. */
  | ((metadata: ActorTimes, now: number) => number | undefined);

/** An actor's timeout: it ends after `ms` milliseconds without a message. Throws where `ms` is not above 0. */
export const idle = (ms: number): Timeout => ({ ends: "idle", ms: span("idle", ms) });
/** An actor's timeout: it ends `ms` milliseconds after its start. Throws where `ms` is not above 0. */
export const lifetime = (ms: number): Timeout => ({ ends: "lifetime", ms: span("lifetime", ms) });
/** An actor's timeout: it never ends by time. */
export const never: Timeout = { ends: "never" };

function span(name: string, ms: number): number {
  if (Number.isFinite(ms) && ms > 0) return ms;
  throw new TroupeError(
    "BAD_DEFINITION",
    `${name}(ms) takes milliseconds above 0: use \`never\` for an actor that does not end by itself.`,
  );
}
