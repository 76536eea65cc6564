import { type Log, TroupeError } from "../../core/contract/index.ts";

/** What is wrong with a registry itself, for whoever runs the server: an `enabled` that cannot say, a watcher that threw. */
export function faultsTo(log: Log): (error: unknown) => void {
  return (error) => {
    // Its name only, where it is not our own sentence: a message may hold what it is about.
    const name = error instanceof Error ? error.name : typeof error;
    const told = error instanceof TroupeError ? { code: error.code, text: error.message } : { name };
    log("error", { event: "registry-fault", ...told });
  };
}
