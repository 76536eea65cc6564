// Owns: `troupe console`: the console of a directory, an export or a cluster. Does not own: that of a running server
// (server/console.ts).
import { spawn } from "node:child_process";
import { basename, resolve } from "node:path";
import type { Command } from "commander";
import type { ConsoleData } from "../../bridges/console/index.ts";
import { type Gateway, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { type Target, addTargetOptions, clusterTarget } from "../actor-options.ts";
import { usage } from "../command-error.ts";
import { faultFields, serverLog } from "../log.ts";
import { reportsLostLog } from "../lost-log.ts";
import { openExportOrDirectory } from "../open-store.ts";
import { type HostPort, parseHostPort } from "../option-parsers.ts";
import { paintError, print } from "../output.ts";
import { stopSignal } from "../server-process.ts";

interface ConsoleOptions extends Target {
  readonly http?: HostPort;
  readonly open?: boolean;
}

export const register = (program: Command, version: string): void => {
  addTargetOptions(
    program
      .command("console")
      .description(
        "Show actors and their history in a web page: of a data directory (--data), of a file that troupe export wrote (--data file), or of a cluster. Of a directory or a file nothing is changed.",
      ),
  )
    .option("--http <address>", "where, at [host:]port of this machine (default: a free port)", (text: string) =>
      parseHostPort(text, "--http"),
    )
    .option("--open", "open the page in the browser")
    .action((options: ConsoleOptions) => showConsole(options, version));
};

/** Serves the console until it is stopped. */
const showConsole = async (options: ConsoleOptions, version: string): Promise<void> => {
  const [{ consoleFor }, { serveHttp }, { isLoopback }, { CONSOLE, consoleFiles, consoleLink, consoleToken }] = await Promise.all([
    import("../../bridges/console/index.ts"),
    import("../../mcp/transport/http.ts"),
    import("../../mcp/transport/listen.ts"),
    import("../console-parts.ts"),
  ]);
  const { http = { host: "127.0.0.1", port: 0 }, json = false } = options;
  if (!isLoopback(http.host))
    throw usage(`This console has no sign-in, so it is for this machine alone: give --http 127.0.0.1:${http.port}.`);
  await using open = new AsyncDisposableStack();
  const stopped = stopSignal();
  const log = serverLog("warn", json, () => systemClock.now());
  const data: ConsoleData = {
    ...(await dataOf(options, version, open)),
    onFault: (error) => log("error", "console-fault", { ...faultFields(error, true) }),
  };
  const token = consoleToken();
  const assets = await consoleFiles(log);
  const listener = open.use(
    await serveHttp({
      gateway: await gatewayWithoutMcp(CONSOLE),
      ...http,
      endpoints: consoleFor({ ...data, path: CONSOLE, token, ...omitUndefined({ assets }) }),
    }),
  );
  const url = new URL(consoleLink(token), listener.url).href;
  const { place = "" } = data.about;
  if (json) print(`${JSON.stringify({ ready: true, console: url, place, pid: process.pid })}\n`);
  else process.stderr.write(`The console shows ${place}:\n\n  ${paintError("cyan", url)}\n\n${paintError("dim", "Ctrl-C stops it.")}\n`);
  if (options.open === true) openBrowser(url);
  await stopped;
  await listener.close({ graceMs: 0 });
};

const now = (): number => systemClock.now();

const dataOf = async (options: ConsoleOptions, version: string, open: AsyncDisposableStack): Promise<ConsoleData> => {
  const [{ readFailures, sqliteSql }, { clusterOperations, clusterReader, storeReader }, { diskOf, DOCS }] = await Promise.all([
    import("../../bridges/console/index.ts"),
    import("../../bridges/operate/index.ts"),
    import("../console-parts.ts"),
  ]);
  const common = { version, development: false, docs: DOCS };
  const cluster = clusterTarget(options);
  if (cluster !== undefined) {
    const operator = await (await import("../cluster-operator.ts")).openOperator(cluster);
    return {
      about: { ...common, name: new URL(cluster.ingress).host, engine: "restate", place: cluster.ingress },
      reader: clusterReader(operator),
      operate: clusterOperations(operator),
      now,
    };
  }
  const path = resolve(options.data);
  const directory = await openExportOrDirectory(path, open);
  const [{ sqliteStore }, { guestsData }, { unservedKinds }] = await Promise.all([
    import("../../core/store/index.ts"),
    import("../console-parts.ts"),
    import("../server/backend.ts"),
  ]);
  const store = open.use(sqliteStore({ directory: directory.path, readOnly: true, ...reportsLostLog }));
  const kinds = await unservedKinds(store, new Set());
  const guests = guestsData();
  return {
    about: { ...common, name: basename(path), engine: "sqlite", place: path },
    reader: storeReader(store),
    unserved: () => kinds,
    ...(kinds.some(({ kind }) => kind === guests.kind) && { guests }),
    failures: { earlier: readFailures(directory.readFailures()) },
    disk: diskOf(directory),
    sql: sqliteSql({ directory: directory.path }),
    now,
  };
};

const gatewayWithoutMcp = async (path: string): Promise<Gateway> => {
  const { refusal } = await import("../../mcp/gateway/index.ts");
  const noMcp = refusal("PATH", `There is no MCP here: this server shows a history at ${path}.`);
  return {
    connect: () => ({ receive: () => undefined, close: async () => undefined }),
    exchange: () => noMcp,
    drain: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
};

const openBrowser = (url: string): void => {
  const [command, ...args] =
    process.platform === "darwin" ? ["open", url] : process.platform === "win32" ? ["explorer.exe", url] : ["xdg-open", url];
  // Without a browser the printed link is enough.
  spawn(command ?? "", args, { stdio: "ignore", detached: true })
    .on("error", () => undefined)
    .unref();
};
