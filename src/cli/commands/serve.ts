// Owns: `troupe serve`: loading the modules, announcing that the server is ready, and its end. Does not own: the server itself
// (server/server.ts), its options (serve-options.ts), loading code anew (dev.ts).
import type { Command } from "commander";
import type { LiveRecorder } from "../../bridges/console/index.ts";
import { type Behaviour, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { load, type LoadedModules, type ServiceSettings } from "../load-modules.ts";
import { faultFields, type ServerLog, serverLog } from "../log.ts";
import { ignoreWriteErrors, type RedirectedStdout, redirectStdout, paintError } from "../output.ts";
import { addConfigurableServeOptions, type ServeOptions } from "../serve-options.ts";
import { setV8Flags, stopSignal, uncaughtError } from "../server-process.ts";
import { logUnserved } from "../server/backend.ts";
import type { Server } from "../server/server.ts";

export const register = (program: Command, version: string): void => {
  addConfigurableServeOptions(program.command("serve").description("Serve actors to MCP clients.")).action(
    async (given: string[], _: ServeOptions, command: Command) => {
      const { applySettings, modulesToServe } = await import("../settings.ts");
      const modules = modulesToServe(await applySettings(command, given));
      await serve(modules, command.opts<ServeOptions>(), version);
    },
  );
};

const redirectFor = (options: ServeOptions): RedirectedStdout | undefined =>
  options.stdio === true || options.json === true ? redirectStdout() : undefined;

const announce = async (
  server: Server,
  options: ServeOptions,
  loaded: LoadedModules,
  log: ServerLog,
  held: RedirectedStdout | undefined,
): Promise<void> => {
  const { addresses, data, node, unserved } = server;
  const { parts, files } = loaded;
  const name = options.name ?? loaded.name;
  if (options.json !== true) {
    const needsKey = options.apiKeys !== undefined;
    const isInteractive = process.stdin.isTTY;
    const { banner } = await import("../server/banner.ts");
    process.stderr.write(`${banner({ name, parts, files, addresses, data, node, unserved, needsKey, isInteractive }, paintError)}\n`);
    return;
  }
  if (unserved.length > 0) logUnserved(log, unserved);
  const line = `${JSON.stringify({ ready: true, name, ...addresses, ...omitUndefined({ data, node }), pid: process.pid })}\n`;
  // With --stdio the standard output belongs to the client, so the line goes to standard error.
  if (options.stdio === true) process.stderr.write(line);
  else held?.print(line);
};

const untilStopped = async (
  server: Server,
  stops: { readonly signalled: Promise<string>; readonly uncaught: Promise<string> },
  options: ServeOptions,
  log: ServerLog,
  dev: Development | undefined,
): Promise<void> => {
  const why = await Promise.race([stops.signalled, stops.uncaught, server.stdioEnded.then(() => "end of input")]);
  log("info", "stopping", { why });
  dev?.stopping();
  await server.close(options.grace);
  if (why === "stray-error")
    throw new CommandError(
      EXIT.failed,
      "STRAY_ERROR",
      "A served module threw outside of every turn, so the server has stopped: the log says where.",
    );
};

/** A server that is ready. */
export interface Serving {
  readonly server: Server;
  readonly log: ServerLog;
  /** Settles when it has stopped. */
  readonly stopped: Promise<void>;
}

/** Settings for services, which are not actors. */
export const serviceSettings = ({ names }: ServeOptions, log: ServerLog, detailedFaults: boolean): ServiceSettings => ({
  ...omitUndefined({ names }),
  onFault: (error) => log("error", "service-fault", { ...faultFields(error, detailedFaults) }),
});

/** What `troupe dev` does differently. */
interface Development {
  /** Wraps a kind before it is served. */
  kind(kind: Behaviour): Behaviour;
  /** Wraps the server's log. */
  log(log: ServerLog): ServerLog;
  /** Called before the server announces that it is ready. */
  loaded(loaded: LoadedModules, log: ServerLog): void;
  /** Called when the server begins to stop. */
  stopping(): void;
}

/** The recorder of a console. Undefined without a console, of which then nothing is loaded. */
const recorderFor = async (options: ServeOptions, inDevelopment: boolean): Promise<LiveRecorder | undefined> => {
  if (!inDevelopment && options.console !== true) return undefined;
  const { wantsConsole } = await import("../server/check-options.ts");
  return wantsConsole(options, inDevelopment) ? (await import("../../bridges/console/index.ts")).recordLive() : undefined;
};

/** Loads the modules and serves them. */
export const startServing = async (
  modules: readonly string[],
  options: ServeOptions,
  version: string,
  dev?: Development,
): Promise<Serving> => {
  const { refuseUnusedOptions } = await import("../server/check-options.ts");
  refuseUnusedOptions(options, dev !== undefined);
  ignoreWriteErrors(process.stdout);
  const held = redirectFor(options);
  const plain = serverLog(options.log, options.json === true, () => systemClock.now());
  const logged = dev?.log(plain) ?? plain;
  const live = await recorderFor(options, dev !== undefined);
  const log: ServerLog =
    live === undefined
      ? logged
      : (level, event, fields, thrown) => {
          live.logged(level, event, fields, thrown);
          logged(level, event, fields);
        };
  const detailedFaults = dev !== undefined || options.log === "debug";
  const loaded = await load(modules, 0, serviceSettings(options, log, detailedFaults));
  dev?.loaded(loaded, log);
  const { startServer } = await import("../server/server.ts");
  const server = await startServer(loaded, options, {
    version,
    log,
    detailedFaults,
    live,
    beforeStdio: () => held?.release(),
    ...(dev === undefined ? {} : { prepareKind: (kind: Behaviour) => dev.kind(kind) }),
  });
  const stops = { signalled: stopSignal(), uncaught: uncaughtError(log, detailedFaults) };
  await announce(server, options, loaded, log, held);
  // Later, so that the first reply does not wait for it.
  setImmediate(setV8Flags);
  return { server, log, stopped: untilStopped(server, stops, options, log, dev) };
};

export const serve = async (modules: readonly string[], options: ServeOptions, version: string): Promise<void> => {
  const { stopped } = await startServing(modules, options, version);
  await stopped;
};
