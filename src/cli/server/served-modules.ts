// Owns: modules on their backend behind one gateway, and their exchange at a reload. Does not own: listeners (listeners.ts).
import type { LiveRecorder, RunningServer } from "../../bridges/console/index.ts";
import {
  type Behaviour,
  type Gateway,
  type JsonObject,
  type Log,
  type Observer,
  type Source,
  systemClock,
} from "../../core/contract/index.ts";
import { observers, omitUndefined, watchClock } from "../../core/contract/internal.ts";
import { createGateway } from "../../mcp/gateway/index.ts";
import type { EngineAddress } from "../cluster/cluster-options.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { optionalPackage } from "../installed-packages.ts";
import { indexesOf, type LoadedModules, release } from "../load-modules.ts";
import { toLog, type ServerLog } from "../log.ts";
import type { ServeOptions } from "../serve-options.ts";
import { type Backend, type BackendOptions, type KindCount, logUnserved } from "./backend.ts";
import type { Packets } from "./packets.ts";
import { assembleSource, handleSecret, logUnreachableKinds, replaceableSource } from "./source.ts";
import type { Theater } from "./theater.ts";

interface ServedOptions {
  readonly options: ServeOptions;
  readonly version: string;
  readonly log: ServerLog;
  /** Log the messages of author errors, too. */
  readonly detailedFaults: boolean;
  /** Wraps each kind in development. */
  readonly prepareKind: ((kind: Behaviour) => Behaviour) | undefined;
  /** Callers have to authenticate. */
  readonly authenticated: boolean;
  /** The recorder of the console; undefined without one. */
  readonly live: LiveRecorder | undefined;
}

/** Modules on their backend, behind one gateway, without listeners. */
export interface ServedModules extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly backend: Backend;
  readonly packets: Packets | undefined;
  readonly theater: Theater | undefined;
  /** The engine, kinds and source that run now. */
  running(): RunningServer;
  readonly unserved: () => readonly KindCount[];
  /** Called when the listeners are open. Accepts commands, and returns the kinds with actors that these modules do not define. */
  opened(): Promise<readonly KindCount[]>;
  /** Serves other modules from now on; if that throws, the previous ones. Clients stay connected. */
  reload(loaded: LoadedModules): Promise<void>;
}

const CLOCK_CHECK_MS = 10_000;

const clockJumped = (ms: number): string =>
  ms > 0
    ? "The clock was set forward, or the machine slept: actors, sessions and keys that would end now are kept until the new time has lasted as long."
    : "The clock was set back: timers that run already go on as if it had not been.";

/** Imported only if there are capabilities, an address for packets, or in development, where a reload may bring the first capability. */
const packetsFor = async (
  loaded: LoadedModules,
  options: ServeOptions,
  authenticated: boolean,
  log: Log,
  inDevelopment: boolean,
): Promise<Packets | undefined> => {
  const mayCome = inDevelopment && (options.auth || options.insecure !== true);
  if (options.packets === undefined && !mayCome && loaded.parts.every(({ capabilities }) => capabilities.length === 0)) {
    if (options.packetConfig !== undefined)
      throw usage("--packet-config is of capabilities, and these modules have none: give --packets, or leave it away.");
    return undefined;
  }
  return (await import("./packets.ts")).openPackets(options, authenticated, log);
};

/** Imported only if an option requests guests. */
const theaterFor = async (options: ServeOptions, authenticated: boolean, log: Log): Promise<Theater | undefined> =>
  options.theater === true || options.theaterTcp !== undefined
    ? (await import("./theater.ts")).openTheater(options, authenticated, log)
    : undefined;

// Each is imported only if it is used, since it needs much.
const openLocalBackend = async (loaded: LoadedModules, backendOptions: BackendOptions): Promise<Backend> =>
  (await import("./local-backend.ts")).LocalBackend.open(loaded, backendOptions);

const joinClusterBackend = async (loaded: LoadedModules, address: EngineAddress, backendOptions: BackendOptions): Promise<Backend> =>
  (await import("./cluster-backend.ts")).ClusterBackend.join(loaded, address, backendOptions);

/** Opens the stores and starts the engine. After a failure it closes what it had opened. */
export const serveModules = async (
  loaded: LoadedModules,
  { options, version, log, detailedFaults, prepareKind, authenticated, live }: ServedOptions,
): Promise<ServedModules> => {
  await using opened = new AsyncDisposableStack();
  const packets = opened.use(await packetsFor(loaded, options, authenticated, toLog(log), prepareKind !== undefined));
  // Opened before the backend, so that it is closed after it: guests run until the engine has ended.
  const theater = opened.use(await theaterFor(options, authenticated, toLog(log)));
  const prepared = (of: LoadedModules): LoadedModules => {
    const configured = packets?.configured(of) ?? of;
    return theater?.withGuests(configured) ?? configured;
  };
  const first = prepared(loaded);
  const telemetry = options.telemetry === true ? await openTelemetryFor(log) : undefined;
  // Deferred first, so that it runs after all else has closed and reported.
  if (telemetry !== undefined) opened.defer(telemetry.flush);
  // Closed after the gateway, which it records until the end.
  if (live !== undefined) opened.use(live);
  const observer = observers(live?.observer, telemetry?.observer);
  const backendOptions: BackendOptions = { options, log, prepareKind, detailedFaults, observer };
  const backend = opened.use(
    options.engine === undefined
      ? await openLocalBackend(first, backendOptions)
      : await joinClusterBackend(first, options.engine, backendOptions),
  );
  const { key } = backend;
  const handles = { secret: handleSecret(key) };
  let engine = await backend.start(first);
  const createSource = async (of: LoadedModules): Promise<Source> => {
    logUnreachableKinds(log, of);
    const place = { engine, data: backend.data, handles };
    await theater?.start(of, place);
    const capabilities = await packets?.start(of, place);
    return assembleSource(of, { engine, names: options.names, log, detailedFaults, handles, capabilities });
  };
  const switched = replaceableSource(await createSource(first), first.instructions);
  opened.defer(watchClock(systemClock, CLOCK_CHECK_MS, (ms) => log("warn", "clock-jumped", { ms, what: clockJumped(ms) })));
  let current = loaded;
  opened.defer(() => release(current));
  const gateway = opened.use(
    createGateway({
      source: switched.source,
      info: {
        ...(packets?.info ?? { name: loaded.name, version }),
        ...omitUndefined({ name: options.name, title: options.title, version: options.serverVersion }),
      },
      sessions: backend.sessions,
      streams: backend.streams,
      ...omitUndefined({ taskStore: backend.taskStore }),
      ...omitUndefined({ peers: backend.peers }),
      listMode: { legacy: options.legacyLists, modern: options.lists },
      ...(options.rate === undefined
        ? {}
        : { rateLimit: options.rate === 0 ? false : { perSecond: options.rate, burst: options.rate * 2 } }),
      ...omitUndefined({ requestStateKey: key, sessionTtlMs: options.sessionTtl, pageSize: options.pageSize }),
      receipts: options.receipts ?? false,
      log: toLog(log),
      ...omitUndefined({ observer }),
    }),
  );
  packets?.tunnelTo(gateway);

  const stopEngine = async (): Promise<void> => {
    await theater?.closeChannels();
    await engine[Symbol.asyncDispose]();
    theater?.detachEngine();
  };
  const startModules = async (next: LoadedModules): Promise<void> => {
    engine = await backend.start(next);
    switched.replace(await createSource(next), next.instructions);
    packets?.tunnelTo(gateway);
  };
  let unserved: readonly KindCount[] = [];
  const resources = opened.move();
  return {
    gateway,
    backend,
    packets,
    theater,
    running: () => ({ engine, kinds: backend.kinds, indexes: indexesOf(current), source: switched.source }),
    unserved: () => unserved,
    async opened() {
      unserved = await backend.recordServed(first);
      await backend.openCommands({
        ...(theater === undefined ? {} : { more: (operation: string, args: JsonObject) => theater.operate(operation, args) }),
        erased: (ids) => packets?.erased(ids),
      });
      return unserved;
    },
    async reload(next) {
      await stopEngine();
      try {
        const ready = prepared(next);
        await startModules(ready);
        release(current, next);
        current = next;
        const before = JSON.stringify(unserved);
        unserved = await backend.recordServed(ready);
        if (unserved.length > 0 && JSON.stringify(unserved) !== before) logUnserved(log, unserved);
      } catch (error) {
        await stopEngine();
        await startModules(prepared(current));
        release(next, current);
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
};

const PACKAGE = "@opentelemetry/api";
/** A collector that is down must not delay the shutdown. */
const FLUSH_MS = 2_000;

interface Telemetry {
  readonly observer: Observer;
  /** Sends the last spans, for a limited time. */
  readonly flush: () => Promise<void>;
}

/** Observes for `--telemetry`. Throws a `CommandError` if the OpenTelemetry API is missing; warns if no SDK is set up. */
const openTelemetryFor = async (log: ServerLog): Promise<Telemetry> => {
  const { flush, isHeard, isOpenTelemetryApi, openTelemetry } = await import("../../hosts/telemetry/index.ts");
  const found = await optionalPackage(PACKAGE);
  if (found === undefined)
    throw new CommandError(
      EXIT.failed,
      "TELEMETRY_MISSING",
      `--telemetry needs ${PACKAGE} and an SDK: run "npm install ${PACKAGE} @opentelemetry/sdk-node" here, and start Node with the SDK (docs/guide/telemetry.md).`,
    );
  if (!isOpenTelemetryApi(found.loaded))
    throw new CommandError(
      EXIT.failed,
      "TELEMETRY_VERSION",
      `${found.path} is another version of ${PACKAGE} than this Troupe knows: install 1.x.`,
    );
  const api = found.loaded;
  if (!isHeard(api))
    log("warn", "telemetry-unheard", {
      what: "No OpenTelemetry SDK has been set up: start Node with one (--import), or leave --telemetry away.",
    });
  return { observer: openTelemetry(api), flush: () => Promise.race([flush(api), flushTimeout()]) };
};

const flushTimeout = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, FLUSH_MS));
