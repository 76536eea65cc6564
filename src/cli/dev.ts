import { dirname } from "node:path";
import { systemClock } from "../contract/index.ts";
import { twice } from "../testing/index.ts";
import { describeFailure } from "./exit-code.ts";
import { load, type Loaded } from "./load.ts";
import type { ServeOptions } from "./options.ts";
import { reloadRounds } from "./reload-hook.ts";
import { begin, serviceFault } from "./serve.ts";
import { WatchedFolders } from "./watched-folders.ts";

export const dev = async (modules: readonly string[], options: ServeOptions, version: string): Promise<void> => {
  const rounds = reloadRounds();
  const { server, loaded, log, stopped } = await begin(modules, options, version, twice);

  let newest = 0;
  let swapping: Promise<void> = Promise.resolve();
  // The last good modules go on being served.
  const failed = (error: unknown): void => log("error", "reload-failed", { why: describeFailure(error).message });
  const swap = async (changed: Loaded): Promise<void> => {
    try {
      await server.reload(changed);
      log("info", "reloaded", { modules });
    } catch (error) {
      failed(error);
    }
  };
  const reload = async (): Promise<void> => {
    const round = rounds.next();
    newest = round;
    log("info", "reloading", { modules });
    try {
      const changed = await load(modules, round, serviceFault(log, true));
      // A module may never finish loading, so one that changes meanwhile does not wait for it.
      if (round === newest) swapping = swapping.then(() => swap(changed));
    } catch (error) {
      failed(error);
    }
    look();
  };
  let cancel: (() => void) | undefined;
  let looksSoon = false;
  using folders = new WatchedFolders({
    changed() {
      cancel?.();
      // An editor writes a file in several steps.
      cancel = systemClock.after(100, () => void reload());
    },
    moved() {
      if (!looksSoon) systemClock.after(100, look);
      looksSoon = true;
    },
    failed: (folder, error) => log("warn", "not-watched", { folder, why: describeFailure(error).message }),
  });
  const roots = loaded.files.map((file) => dirname(file));
  const look = (): void => {
    looksSoon = false;
    folders.look(roots, rounds.folders());
  };
  look();
  await stopped;
};
