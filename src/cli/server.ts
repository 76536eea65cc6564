import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import {
  type Behaviour,
  type Json,
  type Log,
  type SessionStore,
  type Source,
  type Store,
  type StreamStore,
  systemClock,
} from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { createGateway } from "../gateway/index.ts";
import { cast, dotted, merge, prefix, strict } from "../source/index.ts";
import { memorySessionStore, memoryStreamStore, mendedSessionStores, sqliteStore } from "../store/index.ts";
import { type HttpDoor, serveHttp, serveStdio, serveTcp, type StdioDoor, type TcpDoor } from "../transport/index.ts";
import { isBag, textOr } from "./bag.ts";
import { authOf } from "./auth.ts";
import { serveControl } from "./control.ts";
import { DataDirectory } from "./data-directory.ts";
import { faultFields } from "./fault-fields.ts";
import { type Loaded, type Part, release } from "./load.ts";
import type { ServerLog } from "./log.ts";
import { operate } from "./operate.ts";
import type { ServeOptions } from "./options.ts";
import { switchSource } from "./switch-source.ts";
import { type KindCount, SERVE_THEM_TOO, unservedKinds } from "./unserved.ts";

/** Where it can be reached. */
export interface Addresses {
  readonly http?: string;
  readonly meta?: string;
  readonly tcp?: string;
  readonly stdio?: true;
}

/** Everything that runs, and how it ends. */
export interface Server {
  readonly addresses: Addresses;
  readonly data?: string;
  /** Kinds with actors in the directory that these modules do not define. */
  readonly unserved: readonly KindCount[];
  /** Settles when the client on standard input has gone. Never settles without one. */
  readonly stdioEnded: Promise<void>;
  /** Serves other modules from now on, or, where it throws, those from before; who is connected stays so. */
  reload(loaded: Loaded): Promise<void>;
  close(graceMs: number): Promise<void>;
}

/** What keeps state across `reload`. */
interface Keep {
  readonly directory: DataDirectory | undefined;
  readonly store: Store | undefined;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

const keepsFiles = (parts: readonly Part[]): boolean => parts.some(({ kinds }) => kinds.some((kind) => kind.policy.persistence === "disk"));

const open = (loaded: Loaded, options: ServeOptions, dev: boolean, log: ServerLog): Keep => {
  // Memory actors alone leave nothing behind, so they need no directory either.
  if (!dev && !keepsFiles(loaded.parts))
    return { directory: undefined, store: undefined, sessions: memorySessionStore(), streams: memoryStreamStore() };
  const directory = new DataDirectory(options.data);
  directory.create();
  const isNew = !existsSync(directory.actors);
  const store = sqliteStore({ directory: directory.path });
  if (!isNew && !existsSync(directory.sessions))
    log("warn", "sessions-missing", { path: directory.sessions, what: "Clients begin new sessions; actors are all there." });
  const stores = mendedSessionStores({
    path: directory.sessions,
    onDamage: ({ code, message }, aside) =>
      log("error", "sessions-damaged", { code, why: message, aside, what: "Clients begin new sessions; actors are all there." }),
  });
  return { directory, store, ...stores };
};

/** In development a reload ends the engine, and what only lived in memory must outlive that. */
const kept = (kind: Behaviour): Behaviour => {
  if (kind.policy.persistence !== "memory") return kind;
  const policy: Behaviour["policy"] = { ...kind.policy, persistence: "disk" };
  return Object.create(kind, { policy: { value: policy, enumerable: true } });
};

const forLog =
  (log: ServerLog): Log =>
  (level, data) => {
    const { event, ...fields } = isBag(data) ? data : { event: data };
    log(
      level === "debug" ? "debug" : level === "info" || level === "notice" ? "info" : level === "warning" ? "warn" : "error",
      textOr(event ?? null, "event"),
      fields,
    );
  };

/** People read them in the banner. */
const withoutAddresses =
  (log: Log): Log =>
  (level, data, logger) => {
    if (!isBag(data) || data["event"] !== "listening") log(level, data, logger);
  };

/** What signs handles: another key than the one that signs request states, and like it the same after a restart. */
const handleSecret = (key: Uint8Array): Uint8Array => createHmac("sha256", key).update("handles").digest();

const assemble = (
  loaded: Loaded,
  engine: LocalEngine,
  options: ServeOptions,
  log: ServerLog,
  how: { readonly inFull: boolean; readonly key: Uint8Array | undefined },
): Source => {
  const { inFull, key } = how;
  const names = options.toolNames === "strict" ? strict : dotted;
  const sources = loaded.parts.flatMap((part) => {
    const ofActors =
      part.kinds.length === 0
        ? []
        : [
            cast({
              engine,
              kinds: part.kinds,
              names,
              ...(key === undefined ? {} : { handles: { secret: handleSecret(key) } }),
              onFault: (error, actor) => log("error", "surface-fault", { actor, ...faultFields(error, inFull) }),
            }),
          ];
    const all = [...ofActors, ...part.sources];
    return part.prefix === undefined ? all : all.map((source) => prefix(part.prefix ?? "", source, names));
  });
  const [only] = sources;
  return only !== undefined && sources.length === 1 ? only : merge(...sources);
};

export const logUnserved = (log: ServerLog, unserved: readonly KindCount[]): void =>
  log("warn", "kinds-not-served", {
    kinds: Object.fromEntries(unserved.map(({ kind, actors }) => [kind, actors])),
    what: SERVE_THEM_TOO,
  });

/** Opens the stores, starts the engine, opens the doors. Whatever was opened before a failure is closed again. */
export const startServer = async (
  loaded: Loaded,
  options: ServeOptions,
  about: {
    readonly version: string;
    readonly log: ServerLog;
    /** Runs just before the standard output becomes the client's. */
    readonly beforeStdio: () => void;
    readonly dev?: (kind: Behaviour) => Behaviour;
  },
): Promise<Server> => {
  const { log, dev } = about;
  const inFull = dev !== undefined || options.log === "debug";
  const doors: ((how: { readonly graceMs: number }) => Promise<void>)[] = [];
  const closers: (() => PromiseLike<void> | void)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.toReversed()) await close();
    closers.length = 0;
  };
  try {
    const auth = await authOf(options);
    const keep = open(loaded, options, dev !== undefined, log);
    closers.push(
      () => keep.store?.[Symbol.asyncDispose](),
      () => keep.sessions[Symbol.asyncDispose](),
      () => keep.streams[Symbol.asyncDispose](),
    );
    const prepare = (kind: Behaviour): Behaviour => (dev === undefined ? kind : dev(kept(kind)));
    const startEngine = (next: Loaded): Promise<LocalEngine> =>
      LocalEngine.start({
        kinds: next.parts.flatMap((part) => part.kinds.map(prepare)),
        ...(keep.store === undefined ? {} : { store: keep.store }),
        onFault: (error, context) => log("error", "fault", { ...faultFields(error, inFull), ...context }),
      });
    let engine = await startEngine(loaded);
    closers.push(() => engine[Symbol.asyncDispose]());
    const key = keep.directory?.key((bytes) =>
      log("warn", "key-replaced", {
        bytes,
        what: "The key was damaged: what clients were handed before, such as handles, may be refused.",
      }),
    );
    const switched = switchSource(assemble(loaded, engine, options, log, { inFull, key }));
    let served = loaded;
    closers.push(() => release(served));
    const serve = async (next: Loaded): Promise<void> => {
      engine = await startEngine(next);
      switched.replace(assemble(next, engine, options, log, { inFull, key }));
    };
    const gateway = createGateway({
      source: switched.source,
      info: { name: loaded.name, version: about.version },
      ...(loaded.instructions === undefined ? {} : { instructions: loaded.instructions }),
      sessions: keep.sessions,
      streams: keep.streams,
      posture: { modern: options.lists },
      ...(options.rate === undefined
        ? {}
        : { rateLimit: options.rate === 0 ? false : { perSecond: options.rate, burst: options.rate * 2 } }),
      ...(key === undefined ? {} : { requestStateKey: key }),
      receipts: options.receipts ?? false,
      log: forLog(log),
    });
    closers.push(() => gateway[Symbol.asyncDispose]());

    const doorLog = options.json === true ? forLog(log) : withoutAddresses(forLog(log));
    const common = { gateway, log: doorLog, insecure: options.insecure ?? false, ...(auth === undefined ? {} : { auth }) };
    const wantsHttp = options.http ?? (options.stdio === true || options.tcp !== undefined ? undefined : { host: "127.0.0.1", port: 3000 });
    let http: HttpDoor | undefined;
    let tcp: TcpDoor | undefined;
    let stdio: StdioDoor | undefined;
    if (wantsHttp !== undefined) {
      const door = await serveHttp({
        ...common,
        ...wantsHttp,
        ...(options.allowHost === undefined ? {} : { allowedHosts: options.allowHost }),
        ...(options.allowOrigin === undefined ? {} : { allowedOrigins: options.allowOrigin }),
      });
      doors.push((how) => door.close(how));
      http = door;
    }
    if (options.tcp !== undefined) {
      const door = await serveTcp({ ...common, ...options.tcp, ...(options.as === undefined ? {} : { as: options.as }) });
      doors.push((how) => door.close(how));
      tcp = door;
    }

    const { directory, store } = keep;
    /** Notes what is served, for the commands beside this server; returns what lies there unserved. */
    const note = async (next: Loaded): Promise<readonly KindCount[]> => {
      if (directory === undefined || store === undefined) return [];
      const kinds = next.parts.flatMap((part) => part.kinds.map(({ kind }) => kind));
      directory.writeNote({ pid: process.pid, modules: next.files, kinds });
      try {
        return await unservedKinds(store, new Set(kinds));
      } catch (error) {
        log("error", "fault", { where: "unserved-kinds", ...faultFields(error, inFull) });
        return [];
      }
    };
    let unserved = await note(loaded);
    if (directory !== undefined && store !== undefined) {
      directory.removeSocket();
      const handle = (operation: string, args: Readonly<Record<string, Json>>): Promise<Json> =>
        operate({ engine, store })(operation, args);
      closers.push(await serveControl(directory.control, handle));
      closers.push(() => directory.removeSocket());
    }
    // Last: from here on the standard output is the client's.
    if (options.stdio === true) {
      about.beforeStdio();
      const door = serveStdio({
        gateway,
        log: forLog(log),
        graceMs: options.grace,
        ...(options.as === undefined ? {} : { as: options.as }),
      });
      doors.push(() => door.close());
      stdio = door;
    }

    return {
      addresses: {
        ...(http === undefined ? {} : { http: http.url, meta: `${http.url}/meta` }),
        ...(tcp === undefined ? {} : { tcp: tcp.url }),
        ...(stdio === undefined ? {} : { stdio: true as const }),
      },
      ...(directory === undefined ? {} : { data: directory.path }),
      unserved,
      stdioEnded: stdio?.closed ?? new Promise(() => undefined),
      async reload(next) {
        await engine[Symbol.asyncDispose]();
        try {
          await serve(next);
          release(served, next);
          served = next;
          const before = JSON.stringify(unserved);
          unserved = await note(next);
          if (unserved.length > 0 && JSON.stringify(unserved) !== before) logUnserved(log, unserved);
        } catch (error) {
          await engine[Symbol.asyncDispose]();
          await serve(served);
          release(next, served);
          throw error;
        }
      },
      async close(graceMs) {
        // The gateway first: open subscriptions end with their closing result, which needs an open door.
        const from = systemClock.now();
        await gateway.drain(graceMs);
        // One grace for all: what the gateway left over.
        const left = { graceMs: Math.max(0, graceMs - (systemClock.now() - from)) };
        await Promise.all(doors.map((close) => close(left)));
        await closeAll();
      },
    };
  } catch (error) {
    await Promise.all(doors.map((close) => close({ graceMs: 0 })));
    await closeAll();
    throw error;
  }
};
