import { faultFields } from "./fault-fields.ts";
import type { ServerLog } from "./log.ts";

/**
 * What a served module lets go of belongs to no turn. A promise that nobody awaits is told and ends nothing: one client's call must
 * not end everybody's server. Settles when an error was thrown out of a timer or a listener: what is committed is whole, but who
 * threw it may not be, so the server is to drain and end.
 */
export const strayError = (log: ServerLog, inFull: boolean): Promise<"stray-error"> =>
  new Promise((resolve) => {
    process.on("unhandledRejection", (reason) => log("error", "stray-rejection", { ...faultFields(reason, inFull) }));
    process.on("uncaughtException", (error) => {
      log("error", "stray-error", { ...faultFields(error, inFull) });
      resolve("stray-error");
    });
  });
