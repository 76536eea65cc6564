// Owns: `troupe serve`: loading the modules, announcing that the server is ready, and its end. Does not own: the server itself
// (server/server.ts), its options (serve-options.ts), loading code anew (dev.ts).
import type { Command } from "commander";
import type { LiveRecorder } from "../../bridges/console/index.ts";
import { type Behaviour, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { CommandError, EXIT } from "../command-error.ts";
import { load, type Loaded, type ServiceSettings } from "../load-modules.ts";
import { faultFields, type ServerLog, serverLog } from "../log.ts";
import { bearGoneReaders, type HeldOutput, holdOutput, paintError } from "../output.ts";
import { addConfigurableServeOptions, type ServeOptions } from "../serve-options.ts";
import { setV8Flags, stopSignal, strayError } from "../server-process.ts";
import { logUnserved } from "../server/backend.ts";
import { banner } from "../server/banner.ts";
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

const holdFor = (options: ServeOptions): HeldOutput | undefined =>
  options.stdio === true || options.json === true ? holdOutput() : undefined;

const announce = (server: Server, options: ServeOptions, loaded: Loaded, log: ServerLog, held: HeldOutput | undefined): void => {
  const { addresses, data, node, unserved } = server;
  const { parts, files } = loaded;
  const name = options.name ?? loaded.name;
  if (options.json !== true) {
    const byKey = options.apiKeys !== undefined;
    const byHand = process.stdin.isTTY;
    process.stderr.write(`${banner({ name, parts, files, addresses, data, node, unserved, byKey, byHand }, paintError)}\n`);
    return;
  }
  if (unserved.length > 0) logUnserved(log, unserved);
  const line = `${JSON.stringify({ ready: true, name, ...addresses, ...omitUndefined({ data, node }), pid: process.pid })}\n`;
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

/** A server that has said it is ready. */
export interface Serving {
  readonly server: Server;
  readonly log: ServerLog;
  /** Settles when it was told to stop and has. */
  readonly stopped: Promise<void>;
}

/** For services that are no actors. */
export const serviceSettings = ({ names }: ServeOptions, log: ServerLog, inFull: boolean): ServiceSettings => ({
  ...omitUndefined({ names }),
  onFault: (error) => log("error", "service-fault", { ...faultFields(error, inFull) }),
});

/** What `troupe dev` has otherwise. */
interface Development {
  /** Each kind as it is served. */
  kind(kind: Behaviour): Behaviour;
  /** What takes the place of a server's log. */
  log(log: ServerLog): ServerLog;
  /** Before anybody hears that it is ready. */
  loaded(loaded: Loaded, log: ServerLog): void;
}

/** What a console sees of this server. Undefined: there is none, and nothing of it is loaded. */
const liveFor = async (options: ServeOptions, inDevelopment: boolean): Promise<LiveRecorder | undefined> => {
  if (!inDevelopment && options.console !== true) return undefined;
  const { wantsConsole } = await import("../server/check-options.ts");
  return wantsConsole(options, inDevelopment) ? (await import("../../bridges/console/index.ts")).recordLive() : undefined;
};

/** Loads the modules and serves them. */
export const begin = async (modules: readonly string[], options: ServeOptions, version: string, dev?: Development): Promise<Serving> => {
  const { refuseIdle } = await import("../server/check-options.ts");
  refuseIdle(options, dev !== undefined);
  bearGoneReaders(process.stdout);
  const held = holdFor(options);
  const plain = serverLog(options.log, options.json === true, () => systemClock.now());
  const logged = dev?.log(plain) ?? plain;
  const live = await liveFor(options, dev !== undefined);
  const log: ServerLog =
    live === undefined
      ? logged
      : (level, event, fields, thrown) => {
          live.logged(level, event, fields, thrown);
          logged(level, event, fields);
        };
  const inFull = dev !== undefined || options.log === "debug";
  const loaded = await load(modules, 0, serviceSettings(options, log, inFull));
  dev?.loaded(loaded, log);
  const { startServer } = await import("../server/server.ts");
  const server = await startServer(loaded, options, {
    version,
    log,
    inFull,
    live,
    beforeStdio: () => held?.release(),
    ...(dev === undefined ? {} : { dev: (kind: Behaviour) => dev.kind(kind) }),
  });
  const stops = { signalled: stopSignal(), stray: strayError(log, inFull) };
  announce(server, options, loaded, log, held);
  // Not before the first answer, which would wait for it.
  setImmediate(setV8Flags);
  return { server, log, stopped: untilStopped(server, stops, options, log) };
};

export const serve = async (modules: readonly string[], options: ServeOptions, version: string): Promise<void> => {
  const { stopped } = await begin(modules, options, version);
  await stopped;
};
