// Owns: the console of a running server. Does not own: its API (bridges/console), the console of a directory (commands/console.ts).
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ConsoleData, consoleFor, type LiveRecorder, readFailures, sqliteSql } from "../../bridges/console/index.ts";
import { engineReader } from "../../bridges/operate/index.ts";
import { type HttpMount, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { isLoopback } from "../../mcp/transport/listen.ts";
import { CONSOLE, consoleFiles, consoleLink, consoleToken, diskOf, DOCS, guestsData } from "../console-parts.ts";
import { DataDirectory } from "../data-directory.ts";
import { PACKAGE } from "../installed-packages.ts";
import { faultFields, type ServerLog } from "../log.ts";
import { httpAddress, type ServeOptions } from "../serve-options.ts";
import type { ViewerTokens } from "./authentication.ts";
import type { ServedModules } from "./served-modules.ts";

/** The console of a server that runs. */
export interface ServedConsole {
  readonly live: LiveRecorder;
  readonly mounts: readonly HttpMount[];
  /** Its path; without authentication with the token. */
  readonly link: string;
}

interface ConsoleSetting {
  readonly served: ServedModules;
  readonly live: LiveRecorder;
  readonly options: ServeOptions;
  readonly log: ServerLog;
  /** The name, unless `--name` gives another. */
  readonly name: string;
  readonly version: string;
  readonly development: boolean;
  /** Whether callers need a key or a token. */
  readonly authenticated: boolean;
  /** Tokens to connect to MCP as any viewer; undefined if that is not possible. */
  readonly viewers: ViewerTokens | undefined;
}

/** The console of a server that runs. */
export const serveConsole = async (setting: ConsoleSetting): Promise<ServedConsole> => {
  const { live, log, authenticated } = setting;
  const token = authenticated ? undefined : consoleToken();
  const assets = await consoleFiles(log);
  const mounts = consoleFor({
    ...dataOf(setting),
    ...(await bridgesOf(setting.served)),
    path: CONSOLE,
    ...omitUndefined({ assets, token }),
  });
  return { live, mounts, link: consoleLink(token) };
};

/** What the console shows beyond actors. */
const bridgesOf = async ({ packets, theater, backend }: ServedModules): Promise<Pick<ConsoleData, "packets" | "guests" | "operate">> => ({
  async operate(operation, args) {
    const done = await theater?.operate(operation, args);
    return done === undefined ? await backend.operate(operation, args) : done;
  },
  ...(packets !== undefined && { packets: packets.forConsole }),
  ...(theater !== undefined && { guests: guestsData(theater.guests) }),
});

const failuresIn = (directory: DataDirectory, log: ServerLog): NonNullable<ConsoleData["failures"]> => ({
  earlier: readFailures(directory.readFailures()),
  save(text) {
    try {
      directory.writeFailures(text);
    } catch (error) {
      log("warn", "failures-not-stored", { ...faultFields(error, false) });
    }
  },
});

const dataOf = ({ served, live, options, log, name, version, development, authenticated, viewers }: ConsoleSetting): ConsoleData => {
  const { backend } = served;
  const { data, node, store } = backend;
  const host = httpAddress(options)?.host ?? "";
  return {
    about: {
      name: options.name ?? name,
      version,
      engine: node !== undefined ? "restate" : data === undefined ? "memory" : "sqlite",
      development,
      ...omitUndefined({ place: data ?? node?.engine }),
      mcp: "/mcp",
      docs: DOCS,
    },
    reader: engineReader(() => served.running().engine, store),
    running: () => served.running(),
    live,
    edit: options.allowEdit === true,
    settings: {
      insecure: options.insecure === true,
      authenticated,
      exposed: !isLoopback(host),
      rateLimited: options.rate !== 0,
      durable: data !== undefined || node !== undefined,
    },
    unserved: () => served.unserved(),
    ...(viewers !== undefined && { viewerToken: (viewer) => viewers.issue(viewer) }),
    errorPage: () => readFile(join(PACKAGE, "docs/guide/errors.md"), "utf8"),
    ...(data === undefined
      ? {}
      : {
          failures: failuresIn(new DataDirectory(data), log),
          disk: diskOf(new DataDirectory(data)),
          sql: sqliteSql({ directory: data, kinds: () => served.running().kinds }),
        }),
    onFault: (error) => log("error", "console-fault", { ...faultFields(error, development) }),
    now: () => systemClock.now(),
  };
};
