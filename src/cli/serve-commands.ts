import { watch } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../contract/index.ts";
import { twice } from "../testing/index.ts";
import { banner } from "./banner.ts";
import { CommandError, describeFailure, EXIT } from "./exit-code.ts";
import { type HeldOutput, holdOutput } from "./hold-output.ts";
import { load, type Loaded } from "./load.ts";
import { serverLog, type ServerLog } from "./log.ts";
import { isModuleFile } from "./module-file.ts";
import { addServeOptions, type ServeOptions } from "./options.ts";
import { bearGoneReaders, paintError } from "./output.ts";
import { reloadRounds } from "./reload-hook.ts";
import { resolveToThisTroupe } from "./resolve-hook.ts";
import { logUnserved, type Server, startServer } from "./server.ts";
import { strayError } from "./stray.ts";

const holdFor = (options: ServeOptions): HeldOutput | undefined =>
  options.stdio === true || options.json === true ? holdOutput() : undefined;

/** Settles on the first SIGTERM, SIGINT or SIGHUP; a second one ends the process at once. */
const stopSignal = (): Promise<string> =>
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

const announce = (server: Server, options: ServeOptions, loaded: Loaded, log: ServerLog, held: HeldOutput | undefined): void => {
  const { addresses, data, unserved } = server;
  const { name, parts, files } = loaded;
  if (options.json !== true) {
    const byKey = options.apiKeys !== undefined;
    const byHand = process.stdin.isTTY;
    process.stderr.write(`${banner({ name, parts, files, addresses, data, unserved, byKey, byHand }, paintError)}\n`);
    return;
  }
  if (unserved.length > 0) logUnserved(log, unserved);
  const line = `${JSON.stringify({ ready: true, name, ...addresses, ...(data === undefined ? {} : { data }), pid: process.pid })}\n`;
  // With stdio the standard output is the client's: the line goes where logs go.
  if (options.stdio === true) process.stderr.write(line);
  else held?.print(line);
};

const untilStopped = async (
  server: Server,
  stops: { readonly signalled: Promise<string>; readonly stray: Promise<string> },
  options: ServeOptions,
  log: ServerLog,
): Promise<void> => {
  const why = await Promise.race([stops.signalled, stops.stray, server.stdioEnded.then(() => "end of input")]);
  log("info", "stopping", { why });
  await server.close(options.grace);
  if (why === "stray-error")
    throw new CommandError(
      EXIT.failed,
      "STRAY_ERROR",
      "A served module threw outside of every turn, so the server has stopped: the log says where.",
    );
};

export const registerServeCommands = (program: Command, version: string): void => {
  addServeOptions(program.command("serve").description("Serve actors to MCP clients.")).action(
    async (modules: string[], options: ServeOptions) => {
      bearGoneReaders(process.stdout);
      resolveToThisTroupe();
      const held = holdFor(options);
      const log = serverLog(options.log, options.json === true, () => systemClock.now());
      const loaded = await load(modules);
      const server = await startServer(loaded, options, { version, log, beforeStdio: () => held?.release() });
      const stops = { signalled: stopSignal(), stray: strayError(log, options.log === "debug") };
      announce(server, options, loaded, log, held);
      await untilStopped(server, stops, options, log);
    },
  );

  addServeOptions(program.command("dev").description("Serve, load anew when files change, and check that turns are pure.")).action(
    async (modules: string[], options: ServeOptions) => {
      bearGoneReaders(process.stdout);
      resolveToThisTroupe();
      const rounds = reloadRounds();
      const held = holdFor(options);
      const log = serverLog(options.log, options.json === true, () => systemClock.now());
      const loaded = await load(modules);
      const server = await startServer(loaded, options, { version, log, beforeStdio: () => held?.release(), dev: twice });
      const stops = { signalled: stopSignal(), stray: strayError(log, true) };
      announce(server, options, loaded, log, held);

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
      await untilStopped(server, stops, options, log);
      for (const watcher of watchers) watcher.close();
    },
  );
};
