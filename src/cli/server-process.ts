// Owns: signals, uncaught errors and V8 flags of a process that serves. Does not own: how it shuts down (server/server.ts).
import { faultFields, type ServerLog } from "./log.ts";

/** Settles on the first SIGTERM, SIGINT or SIGHUP; a second one ends the process at once. */
export const stopSignal = (): Promise<string> =>
  new Promise((resolve) => {
    let seen = false;
    const stop = (signal: string): void => {
      if (seen) process.exit(130);
      seen = true;
      resolve(signal);
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
    process.on("SIGHUP", stop);
  });

/**
 * Handles errors of served modules outside of turns. An unhandled rejection is only logged: one client's call must not end the server for
 * all. Settles when an error was thrown by a timer or a listener: commits are complete, but the module may be in a bad state, so the server
 * has to drain and end.
 */
export const uncaughtError = (log: ServerLog, detailedFaults: boolean): Promise<"stray-error"> =>
  new Promise((resolve) => {
    process.on("unhandledRejection", (reason) => log("error", "stray-rejection", { ...faultFields(reason, detailedFaults) }));
    process.on("uncaughtException", (error) => {
      log("error", "stray-error", { ...faultFields(error, detailedFaults) });
      resolve("stray-error");
    });
  });

/** The V8 versions of Node 24 and 25, which know these flags. Other versions would print a warning. */
const KNOWN = new Set(["13", "14"]);

const FLAGS = [
  // Pretenuring allocates objects in the old space if those of the same code survived the first few collections. While a server starts,
  // the objects of the last call are always alive: in one start of three the message of every call was then allocated there, which cost a
  // tenth of the CPU time and turned pauses of 1 ms into 8 ms.
  "--no-allocation-site-pretenuring",
  // The path of a call is many short functions, and V8 stops inlining after a quarter of it. The defaults are 460 and 920: twice as much
  // gains nothing, three to six times as much gains all there is.
  "--max-inlined-bytecode-size=1200",
  "--max-inlined-bytecode-size-cumulative=4000",
];

const nameOf = (flag: string): string =>
  flag
    .replace(/^-+(?:no[-_]?)?/, "")
    .replace(/=.*/s, "")
    .replaceAll("_", "-");

/** The flags that Node was not started with; an explicit flag has precedence. */
export const missingFlags = (given: readonly string[]): readonly string[] => {
  const names = new Set(given.map(nameOf));
  return FLAGS.filter((flag) => !names.has(nameOf(flag)));
};

/**
 * For a process that serves. Node documents that setting flags at run time needs care: V8 reads these when it compiles a function, and no
 * relevant function is compiled yet.
 */
export function setV8Flags(): void {
  const flags = missingFlags(process.execArgv);
  if (flags.length === 0 || !KNOWN.has(process.versions.v8.split(".")[0] ?? "")) return;
  process.getBuiltinModule("node:v8").setFlagsFromString(flags.join(" "));
}
