import { dirname } from "node:path";
import { systemClock } from "../core/contract/index.ts";
import { twice } from "../testing/index.ts";
import { describeFailure } from "./command-error.ts";
import { load, type Loaded } from "./load-modules.ts";
import type { ServerLog } from "./log.ts";
import { reloadRounds } from "./reload-hook.ts";
import { reportOnce } from "./report-once.ts";
import type { ServeOptions } from "./serve-options.ts";
import { begin, serviceSettings, type Serving } from "./serve.ts";
import { WatchedFolders } from "./server/watched-folders.ts";

export const dev = async (modules: readonly string[], options: ServeOptions, version: string): Promise<void> => {
  const rounds = reloadRounds();
  let serving: Serving | undefined;
  let log: ServerLog | undefined;
  let roots: readonly string[] = [];
  let cancel: (() => void) | undefined;
  let looksSoon = false;
  let savedEarly = false;

  using folders = new WatchedFolders({
    changed() {
      cancel?.();
      // An editor writes a file in several steps.
      cancel = systemClock.after(100, () => {
        if (serving === undefined) savedEarly = true;
        else void reload(serving);
      });
    },
    moved() {
      if (!looksSoon) systemClock.after(100, look);
      looksSoon = true;
    },
    failed: (folder, error) => log?.("warn", "not-watched", { folder, why: describeFailure(error).message }),
  });
  const look = (): void => {
    looksSoon = false;
    folders.look(roots, rounds.folders());
  };

  let newest = 0;
  let swapping: Promise<void> = Promise.resolve();
  // The last good modules go on being served.
  const failed = (error: unknown): void => log?.("error", "reload-failed", { why: describeFailure(error).message });
  const swap = async ({ server }: Serving, changed: Loaded): Promise<void> => {
    try {
      await server.reload(changed);
      log?.("info", "reloaded", { modules });
    } catch (error) {
      failed(error);
    }
  };
  const reload = async (of: Serving): Promise<void> => {
    const round = rounds.next();
    newest = round;
    of.log("info", "reloading", { modules });
    try {
      const changed = await load(modules, round, serviceSettings(options, of.log, true));
      // A module may never finish loading, so one that changes meanwhile does not wait for it.
      if (round === newest) swapping = swapping.then(() => swap(of, changed));
    } catch (error) {
      failed(error);
    }
    look();
  };

  serving = await begin(modules, options, version, {
    kind: twice,
    log: reportOnce,
    loaded(loaded, its) {
      log = its;
      roots = loaded.files.map((file) => dirname(file));
      look();
    },
  });
  if (savedEarly) void reload(serving);
  await serving.stopped;
};
