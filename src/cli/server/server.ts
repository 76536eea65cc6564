import { existsSync } from "node:fs";
import type { LiveRecorder } from "../../bridges/console/index.ts";
import { type Behaviour, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Authenticator } from "../../mcp/transport/index.ts";
import { usage } from "../command-error.ts";
import type { Loaded } from "../load-modules.ts";
import type { ServerLog } from "../log.ts";
import { httpAddress, type ServeOptions } from "../serve-options.ts";
import type { KindCount, NodeAddress } from "./backend.ts";
import { type Addresses, checkAddresses, Listeners } from "./listeners.ts";
import { serveModules } from "./served-modules.ts";

/** Everything that runs, and how it ends. */
export interface Server {
  readonly addresses: Addresses;
  readonly data?: string;
  readonly node?: NodeAddress;
  /** Kinds with actors in the directory that these modules do not define. */
  readonly unserved: readonly KindCount[];
  /** Settles when standard input has ended. Never settles without a client on it. */
  readonly stdioEnded: Promise<void>;
  /** Serves other modules from now on, or, where it throws, those from before; who is connected stays so. */
  reload(loaded: Loaded): Promise<void>;
  close(graceMs: number): Promise<void>;
}

const authOf = async (options: ServeOptions): Promise<Authenticator | undefined> =>
  options.jwks === undefined && options.issuer === undefined && options.apiKeys === undefined
    ? undefined
    : (await import("./authentication.ts")).authOf(options);

/** Opens the stores, starts the engine, opens the listeners. Whatever was opened before a failure is closed again. */
export const startServer = async (
  loaded: Loaded,
  options: ServeOptions,
  about: {
    readonly version: string;
    readonly log: ServerLog;
    /** Faults are told with all they say. */
    readonly inFull: boolean;
    /** Runs just before the standard output becomes the client's. */
    readonly beforeStdio: () => void;
    readonly dev?: (kind: Behaviour) => Behaviour;
    /** What its console sees. Absent: it has none. */
    readonly live: LiveRecorder | undefined;
  },
): Promise<Server> => {
  const { version, log, inFull, dev, live } = about;
  await using opened = new AsyncDisposableStack();
  const auth = await authOf(options);
  if (auth !== undefined && !options.auth) throw usage("--no-auth does not go with --api-keys or --jwks: leave one of them away.");
  const caller = dev === undefined || auth !== undefined ? undefined : (await import("./authentication.ts")).devCaller(options);
  // Before there are any files: a start that fails here leaves no data directory behind.
  if (options.engine === undefined && !existsSync(options.data)) await checkAddresses(options, auth !== undefined);
  const served = opened.use(await serveModules(loaded, { options, version, log, inFull, dev, known: auth !== undefined, live }));
  const viewers =
    dev === undefined || live === undefined ? undefined : (await import("./authentication.ts")).viewerTokens(httpAddress(options));
  const console =
    live === undefined
      ? undefined
      : await (
          await import("./console.ts")
        ).serveConsole({
          served,
          live,
          options,
          log,
          name: loaded.name,
          version,
          development: dev !== undefined,
          authenticated: auth !== undefined,
          viewers,
        });
  const known = auth ?? caller;
  const listeners = new Listeners(served, { options, log, auth, httpAuth: viewers?.before(known) ?? known, console });
  opened.defer(() => listeners.close(0));
  await listeners.open();
  const unserved = await served.opened();
  const stdio = options.stdio === true ? await listeners.openStdio(about.beforeStdio) : undefined;
  // From here on `close` ends it.
  opened.move();
  const { ground } = served;
  return {
    addresses: listeners.addresses,
    ...omitUndefined({ data: ground.data, node: ground.node }),
    unserved,
    stdioEnded: stdio?.ended ?? new Promise(() => undefined),
    reload: (next) => served.reload(next),
    async close(graceMs) {
      const from = systemClock.now();
      // One grace for all: what those before left over.
      const left = (): number => Math.max(0, graceMs - (systemClock.now() - from));
      listeners.leave();
      // The gateway first: open subscriptions end with their closing result, which needs an open listener.
      await served.gateway.drain(graceMs);
      // Streams of the console's page would hold the listeners open.
      live?.[Symbol.dispose]();
      await served.theater?.drain(left());
      await listeners.close(left());
      await ground.drain(left());
      await served[Symbol.asyncDispose]();
    },
  };
};
