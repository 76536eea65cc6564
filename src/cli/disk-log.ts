import type { JsonObject } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import type { SqliteOptions } from "../core/store/sqlite.ts";

type Write = (level: "info" | "error", event: string, fields: JsonObject) => void;

/** What there is to tell of a file's log. */
export const logsDisk = (log: Write): Required<Pick<SqliteOptions, "onLostLog" | "onCheckpoint">> => ({
  onLostLog: ({ event, log: path, frames, commits, alarm, message }) =>
    log("error", event, { path, ...omitUndefined({ frames, commits }), alarm, what: message }),
  onCheckpoint: (fault) =>
    fault === undefined
      ? log("info", "checkpoint-succeeded", { what: "The store's log is copied into its file again." })
      : log("error", "checkpoint-failed", { code: fault.code, why: fault.message }),
});
