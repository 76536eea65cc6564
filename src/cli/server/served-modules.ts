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
import { indexesOf, type Loaded, release } from "../load-modules.ts";
import { forLog, type ServerLog } from "../log.ts";
import type { ServeOptions } from "../serve-options.ts";
import { type Ground, type GroundOptions, type KindCount, logUnserved } from "./backend.ts";
import type { Packets } from "./packets.ts";
import { assemble, handleSecret, logUnmet, switchSource } from "./source.ts";
import type { Theater } from "./theater.ts";

interface ServedOptions {
  readonly options: ServeOptions;
  readonly version: string;
  readonly log: ServerLog;
  /** Faults are told with all they say. */
  readonly inFull: boolean;
  /** Each kind as `dev` makes it in development. */
  readonly dev: ((kind: Behaviour) => Behaviour) | undefined;
  /** Callers prove who they are. */
  readonly known: boolean;
  /** What the console sees. Absent: there is none. */
  readonly live: LiveRecorder | undefined;
}

/** Modules on their ground, behind one gateway, and no way in yet. */
export interface Served extends AsyncDisposable {
  readonly gateway: Gateway;
  readonly ground: Ground;
  readonly packets: Packets | undefined;
  readonly theater: Theater | undefined;
  /** What runs now. */
  running(): RunningServer;
  readonly unserved: () => readonly KindCount[];
  /** The ways in are open: commands are taken, too. Returns the kinds with actors that these modules do not define. */
  opened(): Promise<readonly KindCount[]>;
  /** Serves other modules from now on, or, where it throws, those from before; who is connected stays so. */
  reload(loaded: Loaded): Promise<void>;
}

const CLOCK_LOOK_MS = 10_000;

const clockJumped = (ms: number): string =>
  ms > 0
    ? "The clock was set forward, or the machine slept: actors, sessions and keys that would end now are kept until the new time has lasted as long."
    : "The clock was set back: timers that run already go on as if it had not been.";

/** Loaded only where there is something for it: capabilities, or an address for packets. */
const packetsOf = async (loaded: Loaded, options: ServeOptions, known: boolean, log: Log): Promise<Packets | undefined> => {
  if (options.packets === undefined && loaded.parts.every(({ capabilities }) => capabilities.length === 0)) {
    if (options.packetConfig !== undefined)
      throw usage("--packet-config is of capabilities, and these modules have none: give --packets, or leave it away.");
    return undefined;
  }
  return (await import("./packets.ts")).openPackets(options, known, log);
};

/** Likewise: where an operator asked for guests. */
const theaterOf = async (options: ServeOptions, known: boolean, log: Log): Promise<Theater | undefined> =>
  options.theater === true || options.theaterTcp !== undefined
    ? (await import("./theater.ts")).openTheater(options, known, log)
    : undefined;

// Each loaded only where it is stood on: what it needs is much.
const onLocalGround = async (loaded: Loaded, how: GroundOptions): Promise<Ground> =>
  (await import("./local-backend.ts")).LocalGround.open(loaded, how);

const onClusterGround = async (loaded: Loaded, address: EngineAddress, how: GroundOptions): Promise<Ground> =>
  (await import("./cluster-backend.ts")).ClusterGround.join(loaded, address, how);

/** Opens the stores and starts the engine. Whatever was opened before a failure is closed again. */
export const serveModules = async (loaded: Loaded, { options, version, log, inFull, dev, known, live }: ServedOptions): Promise<Served> => {
  await using opened = new AsyncDisposableStack();
  const packets = opened.use(await packetsOf(loaded, options, known, forLog(log)));
  // Before the ground, so that it closes after it: guests run until the engine has ended.
  const theater = opened.use(await theaterOf(options, known, forLog(log)));
  const prepared = (of: Loaded): Loaded => {
    const configured = packets?.prepared(of) ?? of;
    return theater?.prepared(configured) ?? configured;
  };
  const first = prepared(loaded);
  const telemetry = options.telemetry === true ? await openTelemetryFor(log) : undefined;
  // After all else has closed: what it still did is told.
  if (telemetry !== undefined) opened.defer(telemetry.flush);
  // After the gateway, which it watches until the end.
  if (live !== undefined) opened.use(live);
  const observer = observers(live?.observer, telemetry?.observer);
  const standing: GroundOptions = { options, log, dev, inFull, observer };
  const ground = opened.use(
    options.engine === undefined ? await onLocalGround(first, standing) : await onClusterGround(first, options.engine, standing),
  );
  const { key } = ground;
  const handles = { secret: handleSecret(key) };
  let engine = await ground.start(first);
  const made = async (of: Loaded): Promise<Source> => {
    logUnmet(log, of);
    const place = { engine, data: ground.data, handles };
    await theater?.start(of, place);
    const capabilities = await packets?.start(of, place);
    return assemble(of, { engine, names: options.names, log, inFull, handles, capabilities });
  };
  const switched = switchSource(await made(first));
  opened.defer(watchClock(systemClock, CLOCK_LOOK_MS, (ms) => log("warn", "clock-jumped", { ms, what: clockJumped(ms) })));
  let current = loaded;
  opened.defer(() => release(current));
  const gateway = opened.use(
    createGateway({
      source: switched.source,
      info: {
        ...(packets?.info ?? { name: loaded.name, version }),
        ...omitUndefined({ name: options.name, title: options.title, version: options.serverVersion }),
      },
      ...omitUndefined({ instructions: loaded.instructions }),
      sessions: ground.sessions,
      streams: ground.streams,
      ...omitUndefined({ taskStore: ground.taskStore }),
      ...omitUndefined({ peers: ground.peers }),
      listMode: { legacy: options.legacyLists, modern: options.lists },
      ...(options.rate === undefined
        ? {}
        : { rateLimit: options.rate === 0 ? false : { perSecond: options.rate, burst: options.rate * 2 } }),
      ...omitUndefined({ requestStateKey: key, sessionTtlMs: options.sessionTtl, pageSize: options.pageSize }),
      receipts: options.receipts ?? false,
      log: forLog(log),
      ...omitUndefined({ observer }),
    }),
  );
  packets?.tunnelTo(gateway);

  const leave = async (): Promise<void> => {
    await theater?.endChannels();
    await engine[Symbol.asyncDispose]();
    theater?.leave();
  };
  const serve = async (next: Loaded): Promise<void> => {
    engine = await ground.start(next);
    switched.replace(await made(next));
    packets?.tunnelTo(gateway);
  };
  let unserved: readonly KindCount[] = [];
  const own = opened.move();
  return {
    gateway,
    ground,
    packets,
    theater,
    running: () => ({ engine, kinds: ground.kinds, indexes: indexesOf(current), source: switched.source }),
    unserved: () => unserved,
    async opened() {
      unserved = await ground.served(first);
      await ground.open({
        ...(theater === undefined ? {} : { more: (operation: string, args: JsonObject) => theater.operate(operation, args) }),
        erased: (ids) => packets?.erased(ids),
      });
      return unserved;
    },
    async reload(next) {
      await leave();
      try {
        const ready = prepared(next);
        await serve(ready);
        release(current, next);
        current = next;
        const before = JSON.stringify(unserved);
        unserved = await ground.served(ready);
        if (unserved.length > 0 && JSON.stringify(unserved) !== before) logUnserved(log, unserved);
      } catch (error) {
        await leave();
        await serve(prepared(current));
        release(next, current);
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
};

const PACKAGE = "@opentelemetry/api";
/** A collector that is away must not hold up a server that was told to stop. */
const FLUSH_MS = 2_000;

interface Telemetry {
  readonly observer: Observer;
  /** The last spans go out, if they go soon. */
  readonly flush: () => Promise<void>;
}

/** Of `--telemetry`. Throws a `CommandError` where there is no API to tell anything to; where nobody listens to it, the log says so. */
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
  return { observer: openTelemetry(api), flush: () => Promise.race([flush(api), late()]) };
};

const late = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, FLUSH_MS));
