import { watch } from "node:fs";
import { dirname } from "node:path";
import { systemClock } from "../contract/index.ts";
import { twice } from "../testing/index.ts";
import { describeFailure } from "./exit-code.ts";
import { load } from "./load.ts";
import { isModuleFile } from "./module-file.ts";
import type { ServeOptions } from "./options.ts";
import { reloadRounds } from "./reload-hook.ts";
import { resolveToThisTroupe } from "./resolve-hook.ts";
import { begin } from "./serve.ts";

export const dev = async (modules: readonly string[], options: ServeOptions, version: string): Promise<void> => {
  resolveToThisTroupe();
  const rounds = reloadRounds();
  const { server, loaded, log, stopped } = await begin(modules, options, version, twice);

  let reloading: Promise<void> = Promise.resolve();
  const reload = async (): Promise<void> => {
    try {
      const next = await load(modules, rounds.next());
      await server.reload(next);
      log("info", "reloaded", { modules });
    } catch (error) {
      // The last good modules go on being served.
      log("error", "reload-failed", { why: describeFailure(error).message });
    }
  };
  let cancel: (() => void) | undefined;
  const watchers = [...new Set(loaded.files.map((file) => dirname(file)))].map((folder) =>
    watch(folder, { recursive: true }, (_event, file) => {
      if (file !== null && !isModuleFile(file)) return;
      cancel?.();
      // An editor writes a file in several steps.
      cancel = systemClock.after(100, () => {
        reloading = reloading.then(reload);
      });
    }),
  );
  await stopped;
  for (const watcher of watchers) watcher.close();
};
