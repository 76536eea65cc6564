import { systemClock } from "../core/contract/index.ts";
import { CommandError, EXIT } from "./exit-code.ts";
import { holdOutput } from "./hold-output.ts";
import { load, type Loaded } from "./load.ts";
import { serverLog } from "./log.ts";
import { strayError } from "./stray.ts";

/** Listened to once: a command may do one thing to thousands of actors. */
let thrown: Promise<unknown> | undefined;

/** Loads modules for as long as one command uses them: what they print and let go of goes to the standard error, as with a server. */
export const withModules = async <T>(
  modules: readonly string[],
  { json }: { readonly json?: boolean },
  use: (loaded: Loaded) => Promise<T>,
): Promise<T> => {
  const held = holdOutput();
  thrown ??= strayError(
    serverLog("info", json === true, () => systemClock.now()),
    true,
  );
  const stray = thrown.then(() => {
    throw new CommandError(
      EXIT.failed,
      "STRAY_ERROR",
      "A module threw outside of every turn, so the command has ended before it was done: what was committed stays.",
    );
  });
  try {
    return await Promise.race([load(modules).then(use), stray]);
  } finally {
    held.release();
  }
};
