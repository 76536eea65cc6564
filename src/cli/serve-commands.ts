import { watch } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../contract/index.ts";
import { twice } from "../testing/index.ts";
import { CommandError, describeFailure, EXIT } from "./exit-code.ts";
import { type HeldOutput, holdOutput } from "./hold-output.ts";
import { load } from "./load.ts";
import { serverLog, type ServerLog } from "./log.ts";
import { isModuleFile } from "./module-file.ts";
import { addServeOptions, type ServeOptions } from "./options.ts";
import { bearGoneReaders, counted, paint } from "./output.ts";
import { reloadRounds } from "./reload-hook.ts";
import { resolveToThisTroupe } from "./resolve-hook.ts";
import { logUnserved, type Server, startServer } from "./server.ts";
import { strayError } from "./stray.ts";
import { SERVE_THEM_TOO } from "./unserved.ts";

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

const announce = (server: Server, options: ServeOptions, name: string, log: ServerLog, held: HeldOutput | undefined): void => {
  const { addresses, data, unserved } = server;
  if (options.json === true) {
    if (unserved.length > 0) logUnserved(log, unserved);
    const line = `${JSON.stringify({ ready: true, name, ...addresses, ...(data === undefined ? {} : { data }), pid: process.pid })}\n`;
    // With stdio the standard output is the client's: the line goes where logs go.
    if (options.stdio === true) process.stderr.write(line);
    else held?.print(line);
    return;
  }
  const lines = [`${paint("bold", name)} is served.`];
  if (addresses.http !== undefined) {
    lines.push(
      "",
      `  HTTP   ${paint("cyan", addresses.http)}`,
      `         ${addresses.meta} for clients that never ask for the list again`,
      "",
      "Connect a client:",
      `  ${JSON.stringify({ mcpServers: { [name]: { type: "http", url: addresses.http } } })}`,
      "Or look at it:",
      `  npx @modelcontextprotocol/inspector --cli ${addresses.http} --method tools/list`,
    );
  }
  if (addresses.tcp !== undefined) lines.push("", `  TCP    ${paint("cyan", addresses.tcp)}`);
  if (addresses.stdio) lines.push("", "  stdio  this process");
  lines.push("", data === undefined ? "Nothing is kept: its actors live in memory." : `Kept in ${data}.`);
  if (unserved.length > 0) {
    const kinds = unserved.map(({ kind, actors }) => `${kind} (${counted(actors, "actor")})`).join(", ");
    lines.push("", `${paint("yellow", "Not served")}: ${kinds}, kept there too.`, SERVE_THEM_TOO);
  }
  lines.push(paint("dim", "Ctrl-C stops it."));
  process.stderr.write(`${lines.join("\n")}\n`);
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
      announce(server, options, loaded.name, log, held);
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
      announce(server, options, loaded.name, log, held);

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
