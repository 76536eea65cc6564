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

/** V8's of Node 24 and later until now. One that has no such flag would say so on the standard error. */
const KNOWN = new Set(["13", "14"]);

const FLAGS = [
  // V8 judges a place that makes objects by what of them is alive at a few of its first collections, and may make all later ones among
  // the old. Of what a call leaves the last is always alive, and while a server starts little else is: in one start of three the
  // message of each call went there for good, with all it held, which took a tenth of the processor's time and made a pause of 1 ms
  // one of 8. Here nothing is judged.
  "--no-allocation-site-pretenuring",
  // A call's way is many short functions, and V8 stops making one of them when it has a quarter of such a way. Its own bounds are 460
  // and 920: twice as much gains nothing, three to six times as much all there is to gain.
  "--max-inlined-bytecode-size=1200",
  "--max-inlined-bytecode-size-cumulative=4000",
];

const nameOf = (flag: string): string =>
  flag
    .replace(/^-+(?:no[-_]?)?/, "")
    .replace(/=.*/s, "")
    .replaceAll("_", "-");

/** Those of ours that are not among what this Node was started with: whoever said one of them meant it. */
export const flagsBeside = (given: readonly string[]): readonly string[] => {
  const said = new Set(given.map(nameOf));
  return FLAGS.filter((flag) => !said.has(nameOf(flag)));
};

/**
 * For a process that serves. Node says that flags may be set while it runs, with care: these are looked at when a function is
 * compiled, and none that matters is yet.
 */
export function setV8Flags(): void {
  const flags = flagsBeside(process.execArgv);
  if (flags.length === 0 || !KNOWN.has(process.versions.v8.split(".")[0] ?? "")) return;
  process.getBuiltinModule("node:v8").setFlagsFromString(flags.join(" "));
}
