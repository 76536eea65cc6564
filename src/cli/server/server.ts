// Owns: a server's start and shutdown, in order. Does not own: what is served (served-modules.ts), where it listens (listeners.ts).
import { existsSync } from "node:fs";
import type { LiveRecorder } from "../../bridges/console/index.ts";
import { type Behaviour, systemClock } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Authenticator } from "../../mcp/transport/index.ts";
import { usage } from "../command-error.ts";
import type { LoadedModules } from "../load-modules.ts";
import type { ServerLog } from "../log.ts";
import { httpAddress, type ServeOptions } from "../serve-options.ts";
import type { KindCount, NodeAddress } from "./backend.ts";
import { type Addresses, checkAddresses, Listeners } from "./listeners.ts";
import { serveModules } from "./served-modules.ts";

/** A running server. */
export interface Server {
  readonly addresses: Addresses;
  readonly data?: string;
  readonly node?: NodeAddress;
  /** Kinds with actors in the directory that these modules do not define. */
  readonly unserved: readonly KindCount[];
  /** Settles when standard input has ended; never without `--stdio`. */
  readonly stdioEnded: Promise<void>;
  /** Serves other modules from now on; if that throws, the previous ones. Clients stay connected. */
  reload(loaded: LoadedModules): Promise<void>;
  close(graceMs: number): Promise<void>;
}

const authOf = async (options: ServeOptions): Promise<Authenticator | undefined> =>
  options.jwks === undefined && options.issuer === undefined && options.apiKeys === undefined
    ? undefined
    : (await import("./authentication.ts")).createAuthenticator(options);

/** Opens the stores, starts the engine, opens the listeners. After a failure it closes what it had opened. */
export const startServer = async (
  loaded: LoadedModules,
  options: ServeOptions,
  about: {
    readonly version: string;
    readonly log: ServerLog;
    /** Log the messages of author errors, too. */
    readonly detailedFaults: boolean;
    /** Called just before the standard output becomes the client's. */
    readonly beforeStdio: () => void;
    readonly prepareKind?: (kind: Behaviour) => Behaviour;
    /** The recorder of its console; undefined without one. */
    readonly live: LiveRecorder | undefined;
  },
): Promise<Server> => {
  const { version, log, detailedFaults, prepareKind, live } = about;
  await using opened = new AsyncDisposableStack();
  const auth = await authOf(options);
  if (auth !== undefined && !options.auth) throw usage("--no-auth does not go with --api-keys or --jwks: leave one of them away.");
  const caller =
    prepareKind === undefined || auth !== undefined ? undefined : (await import("./authentication.ts")).developmentCaller(options);
  // Before any file is created: a start that fails here leaves no data directory behind.
  if (options.engine === undefined && !existsSync(options.data)) await checkAddresses(options, auth !== undefined);
  const served = opened.use(
    await serveModules(loaded, { options, version, log, detailedFaults, prepareKind, authenticated: auth !== undefined, live }),
  );
  const viewers =
    prepareKind === undefined || live === undefined ? undefined : (await import("./authentication.ts")).viewerTokens(httpAddress(options));
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
          development: prepareKind !== undefined,
          authenticated: auth !== undefined,
          viewers,
        });
  const known = auth ?? caller;
  const listeners = new Listeners(served, { options, log, auth, httpAuth: viewers?.wrap(known) ?? known, console });
  opened.defer(() => listeners.close(0));
  await listeners.open();
  const unserved = await served.opened();
  const stdio = options.stdio === true ? await listeners.openStdio(about.beforeStdio) : undefined;
  // From here on `close` disposes of it.
  opened.move();
  const { backend } = served;
  return {
    addresses: listeners.addresses,
    ...omitUndefined({ data: backend.data, node: backend.node }),
    unserved,
    stdioEnded: stdio?.ended ?? new Promise(() => undefined),
    reload: (next) => served.reload(next),
    async close(graceMs) {
      const from = systemClock.now();
      // One grace period for all steps.
      const left = (): number => Math.max(0, graceMs - (systemClock.now() - from));
      listeners.markNotReady();
      // The gateway first: open subscriptions end with a result, which needs an open listener.
      await served.gateway.drain(graceMs);
      // Streams of the console's page would keep the listeners open.
      live?.[Symbol.dispose]();
      await served.theater?.drain(left());
      await listeners.close(left());
      await backend.drain(left());
      await served[Symbol.asyncDispose]();
    },
  };
};
