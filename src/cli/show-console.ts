import { spawn } from "node:child_process";
import { basename, resolve } from "node:path";
import { type ConsoleData, consoleFor, readFailures, sqliteSql } from "../bridges/console/index.ts";
import { clusterOperations, clusterReader, storeReader } from "../bridges/operate/index.ts";
import { type Answer, type Gateway, systemClock } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { sqliteStore } from "../core/store/index.ts";
import { refusal } from "../mcp/gateway/index.ts";
import { serveHttp } from "../mcp/transport/http.ts";
import { isLoopback } from "../mcp/transport/listen.ts";
import { transferOf } from "./actor-options.ts";
import { usage } from "./command-error.ts";
import type { ConsoleCommand } from "./console-command.ts";
import { guestsData } from "./console/guests.ts";
import { CONSOLE, consoleFiles, consoleLink, consoleToken, diskOf, DOCS } from "./console/page.ts";
import { faultFields, serverLog } from "./log.ts";
import { notesLoss } from "./open-store.ts";
import { paintError, print } from "./output.ts";
import { directoryToRead } from "./read-source.ts";
import { stopSignal } from "./server-process.ts";
import { unservedKinds } from "./server/backend.ts";

/** Serves the console until it is stopped. */
export const showConsole = async (options: ConsoleCommand, version: string): Promise<void> => {
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
    await serveHttp({ gateway: NO_MCP, ...http, endpoints: consoleFor({ ...data, path: CONSOLE, token, ...omitUndefined({ assets }) }) }),
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

const dataOf = async (options: ConsoleCommand, version: string, open: AsyncDisposableStack): Promise<ConsoleData> => {
  const common = { version, development: false, docs: DOCS };
  const cluster = transferOf(options);
  if (cluster !== undefined) {
    const operator = await (await import("./cluster-operator.ts")).openOperator(cluster);
    return {
      about: { ...common, name: new URL(cluster.ingress).host, engine: "restate", place: cluster.ingress },
      reader: clusterReader(operator),
      operate: clusterOperations(operator),
      now,
    };
  }
  const path = resolve(options.data);
  const directory = await directoryToRead(path, open);
  const store = open.use(sqliteStore({ directory: directory.path, readOnly: true, ...notesLoss }));
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

const NOT_HERE: Answer = refusal("PATH", `There is no MCP here: this server shows a history at ${CONSOLE}.`);

const NO_MCP: Gateway = {
  connect: () => ({ receive: () => undefined, close: async () => undefined }),
  exchange: () => NOT_HERE,
  drain: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

const openBrowser = (url: string): void => {
  const [command, ...args] =
    process.platform === "darwin" ? ["open", url] : process.platform === "win32" ? ["explorer.exe", url] : ["xdg-open", url];
  // Where there is no browser, the link was printed.
  spawn(command ?? "", args, { stdio: "ignore", detached: true })
    .on("error", () => undefined)
    .unref();
};
