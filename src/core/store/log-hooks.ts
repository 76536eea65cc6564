// Owns: what a server logs about its store's files. Does not own: finding it (log-loss.ts, checkpointer.ts).
import type { Log, StoreError } from "../contract/index.ts";
import { omitUndefined } from "../contract/internal.ts";
import type { MendedSessionOptions } from "./sqlite-sessions.ts";
import type { SqliteOptions } from "./sqlite.ts";

/** Hooks of `sqliteStore` and `sqliteContents`. */
export const storeHooks = (log: Log): Required<Pick<SqliteOptions, "onDamage" | "onLostLog" | "onCheckpoint">> => ({
  onDamage: (fault) =>
    log("error", {
      event: "store-damaged",
      ...reasonOf(fault),
      what: "Replies to keyed calls that expired stay; what meets the damaged part is refused, all else goes on.",
    }),
  onLostLog: ({ event, log: path, frames, commits, alarm, message }) =>
    log("error", { event, path, ...omitUndefined({ frames, commits }), alarm, what: message }),
  onCheckpoint: (fault) =>
    fault === undefined
      ? log("info", { event: "checkpoint-succeeded", what: "The store's log is copied into its file again." })
      : log("error", { event: "checkpoint-failed", ...reasonOf(fault) }),
});

/** Hooks of `mendedSessionStores`. */
export const sessionHooks = (log: Log): Pick<MendedSessionOptions, "onDamage"> => ({
  onDamage: (fault, aside) =>
    log("error", {
      event: "sessions-damaged",
      ...reasonOf(fault),
      aside,
      what: "Clients begin new sessions; actors are all there.",
    }),
});

const reasonOf = ({ code, message }: StoreError): { readonly code: string; readonly why: string } => ({ code, why: message });
