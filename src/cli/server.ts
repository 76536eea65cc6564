import { createHmac } from "node:crypto";
import { type Behaviour, type Engine, isBag, type Log, type Source, systemClock } from "../contract/index.ts";
import { createGateway } from "../gateway/index.ts";
import { cast, dotted, merge, prefix, strict } from "../source/index.ts";
import { checkNames } from "../source/merge.ts";
import type { Authenticator, HttpDoor, StdioDoor, TcpDoor, TcpOptions } from "../transport/index.ts";
import type { EngineAddress } from "./cluster/engine-address.ts";
import { faultFields } from "./fault-fields.ts";
import type { Ground, GroundOptions, NodeAddress } from "./ground.ts";
import { type Loaded, release } from "./load.ts";
import { forLog, type ServerLog } from "./log.ts";
import type { Packets } from "./packets.ts";
import type { ServeOptions } from "./options.ts";
import type { Theater } from "./theater.ts";
import { usage } from "./exit-code.ts";
import { switchSource } from "./switch-source.ts";
import { type KindCount, SERVE_THEM_TOO } from "./unserved.ts";

/** Where it can be reached. */
export interface Addresses {
  readonly http?: string;
  readonly meta?: string;
  /** The deprecated HTTP+SSE transport. */
  readonly sse?: string;
  readonly tcp?: string;
  readonly stdio?: true;
  /** Over HTTP; a WebSocket may be opened there too. */
  readonly packets?: string;
  readonly packetsTcp?: string;
  /** Theater's MCP face, over HTTP. */
  readonly theater?: string;
  /** Theater's management protocol. */
  readonly theaterTcp?: string;
}

/** Everything that runs, and how it ends. */
export interface Server {
  readonly addresses: Addresses;
  readonly data?: string;
  readonly node?: NodeAddress;
  /** Kinds with actors in the directory that these modules do not define. */
  readonly unserved: readonly KindCount[];
  /** Settles when the client on standard input has gone. Never settles without one. */
  readonly stdioEnded: Promise<void>;
  /** Serves other modules from now on, or, where it throws, those from before; who is connected stays so. */
  reload(loaded: Loaded): Promise<void>;
  close(graceMs: number): Promise<void>;
}

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
  engine: Engine,
  options: ServeOptions,
  log: ServerLog,
  how: { readonly inFull: boolean; readonly key: Uint8Array | undefined; readonly capabilities: Source | undefined },
): Source => {
  const { inFull, key, capabilities } = how;
  const names = options.toolNames === "strict" ? strict : dotted;
  const sources = loaded.parts.flatMap((part) => {
    const ofActors =
      part.cast.length === 0
        ? []
        : [
            cast({
              engine,
              kinds: part.cast,
              names,
              ...(key === undefined ? {} : { handles: { secret: handleSecret(key) } }),
              onFault: (error, actor) => log("error", "surface-fault", { actor, ...faultFields(error, inFull) }),
            }),
          ];
    const all = [...ofActors, ...part.sources];
    return part.prefix === undefined ? all : all.map((source) => prefix(part.prefix ?? "", source, names));
  });
  // Under no prefix: a capability has the same name to packets.
  const all = capabilities === undefined ? sources : [...sources, capabilities];
  const [only] = all;
  if (only !== undefined && all.length === 1) return only;
  // Else every request would fail, and the first to hear of it would be a client.
  checkNames(...all);
  return merge(...all);
};

export const logUnserved = (log: ServerLog, unserved: readonly KindCount[]): void =>
  log("warn", "kinds-not-served", {
    kinds: Object.fromEntries(unserved.map(({ kind, actors }) => [kind, actors])),
    what: SERVE_THEM_TOO,
  });

/** Loaded only where there is something for it: capabilities, or a door for packets. */
const packetsOf = async (loaded: Loaded, options: ServeOptions, known: boolean, log: Log): Promise<Packets | undefined> => {
  if (options.packets === undefined && loaded.parts.every(({ capabilities }) => capabilities.length === 0)) {
    if (options.config !== undefined)
      throw usage("--config is of capabilities, and these modules have none: give --packets, or leave it away.");
    return undefined;
  }
  return (await import("./packets.ts")).openPackets(options, known, log);
};

/** Likewise: where an operator asked for guests. */
const theaterOf = async (options: ServeOptions, known: boolean, log: Log): Promise<Theater | undefined> =>
  options.theater === true || options.theaterTcp !== undefined || options.manifests !== undefined
    ? (await import("./theater.ts")).openTheater(options, known, log)
    : undefined;

// Each loaded only where it is stood on: what it needs is much.
const onLocalGround = async (loaded: Loaded, how: GroundOptions): Promise<Ground> =>
  (await import("./local-ground.ts")).LocalGround.open(loaded, how);

const onClusterGround = async (loaded: Loaded, address: EngineAddress, how: GroundOptions): Promise<Ground> =>
  (await import("./cluster-ground.ts")).ClusterGround.join(loaded, address, how);

// Each door by its own file: the folder's index would load them all.
const serveTcp = async (options: TcpOptions): Promise<TcpDoor> => (await import("../transport/tcp.ts")).serveTcp(options);

const authOf = async (options: ServeOptions): Promise<Authenticator | undefined> =>
  options.jwks === undefined && options.issuer === undefined && options.apiKeys === undefined
    ? undefined
    : (await import("./auth.ts")).authOf(options);

const hasOtherDoor = ({ stdio, tcp, theater, theaterTcp }: ServeOptions): boolean =>
  stdio === true || tcp !== undefined || (theaterTcp !== undefined && theater !== true);

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
    const packets = await packetsOf(loaded, options, auth !== undefined, forLog(log));
    if (packets !== undefined) closers.push(() => packets[Symbol.asyncDispose]());
    // Before the ground, so that it closes after it: guests run until the engine has ended.
    const theater = await theaterOf(options, auth !== undefined, forLog(log));
    if (theater !== undefined) closers.push(() => theater[Symbol.asyncDispose]());
    const whole = (of: Loaded): Loaded => theater?.prepared(of) ?? of;
    const prepared = whole(packets?.prepared(loaded) ?? loaded);
    const standing: GroundOptions = { options, log, dev, inFull };
    const ground =
      options.engine === undefined ? await onLocalGround(prepared, standing) : await onClusterGround(prepared, options.engine, standing);
    closers.push(() => ground[Symbol.asyncDispose]());
    const { key } = ground;
    let engine = await ground.start(prepared);
    const made = async (of: Loaded): Promise<Source> => {
      const place = { engine, data: ground.data };
      await theater?.start(of, place);
      return assemble(of, engine, options, log, { inFull, key, capabilities: await packets?.start(of, place) });
    };
    const switched = switchSource(await made(prepared));
    let served = loaded;
    closers.push(() => release(served));
    const serve = async (next: Loaded): Promise<void> => {
      const ready = whole(packets?.prepared(next) ?? next);
      engine = await ground.start(ready);
      switched.replace(await made(ready));
      packets?.tunnelTo(gateway);
    };
    const gateway = createGateway({
      source: switched.source,
      info: packets?.info ?? { name: loaded.name, version: about.version },
      ...(loaded.instructions === undefined ? {} : { instructions: loaded.instructions }),
      sessions: ground.sessions,
      streams: ground.streams,
      ...(ground.peers === undefined ? {} : { peers: ground.peers }),
      posture: { modern: options.lists },
      ...(options.rate === undefined
        ? {}
        : { rateLimit: options.rate === 0 ? false : { perSecond: options.rate, burst: options.rate * 2 } }),
      ...(key === undefined ? {} : { requestStateKey: key }),
      receipts: options.receipts ?? false,
      log: forLog(log),
    });
    closers.push(() => gateway[Symbol.asyncDispose]());
    packets?.tunnelTo(gateway);
    const theaterMount = theater?.mount();
    const packetDoor = options.packets === undefined ? undefined : packets?.doors();

    const doorLog = options.json === true ? forLog(log) : withoutAddresses(forLog(log));
    const common = { gateway, log: doorLog, insecure: options.insecure ?? false, ...(auth === undefined ? {} : { auth }) };
    const wantsHttp = options.http ?? (hasOtherDoor(options) ? undefined : { host: "127.0.0.1", port: 3000 });
    if (options.sse === true && wantsHttp === undefined) throw usage("--sse is beside MCP's HTTP: give --http, too.");
    let stopping = false;
    let http: HttpDoor | undefined;
    let tcp: TcpDoor | undefined;
    let stdio: StdioDoor | undefined;
    if (wantsHttp !== undefined) {
      const { serveHttp } = await import("../transport/http.ts");
      const door = await serveHttp({
        ...common,
        ...wantsHttp,
        sse: options.sse ?? false,
        ready: () => !stopping && (ground.fault?.message ?? true),
        ...(options.allowHost === undefined ? {} : { allowedHosts: options.allowHost }),
        ...(options.allowOrigin === undefined ? {} : { allowedOrigins: options.allowOrigin }),
        doors: [...(packetDoor === undefined ? [] : [packetDoor.http]), ...(theaterMount === undefined ? [] : [theaterMount])],
        ...(packetDoor === undefined ? {} : { upgrades: [packetDoor.webSocket] }),
        // One server takes bodies for all: what is too long for the actors' gateway, that refuses.
        ...(theater === undefined || theaterMount === undefined ? {} : { limits: { bodyBytes: theater.messageBytes } }),
      });
      doors.push((how) => door.close(how));
      http = door;
    }
    let packetsTcp: TcpDoor | undefined;
    if (packetDoor !== undefined && typeof options.packets === "object") {
      const door = await serveTcp({ ...common, ...options.packets, ...packetDoor.tcp });
      doors.push((how) => door.close(how));
      packetsTcp = door;
    }
    if (options.tcp !== undefined) {
      const door = await serveTcp({ ...common, ...options.tcp, ...(options.as === undefined ? {} : { as: options.as }) });
      doors.push((how) => door.close(how));
      tcp = door;
    }

    let unserved = await ground.served(whole(loaded));
    await ground.open(theater === undefined ? undefined : (operation, args) => theater.operate(operation, args));
    // Last: from here on the standard output is the client's.
    if (options.stdio === true) {
      const { serveStdio } = await import("../transport/stdio.ts");
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
        ...(http === undefined || options.sse !== true ? {} : { sse: new URL("/sse", http.url).href }),
        ...(tcp === undefined ? {} : { tcp: tcp.url }),
        ...(stdio === undefined ? {} : { stdio: true as const }),
        ...(http === undefined || packetDoor === undefined ? {} : { packets: new URL(packetDoor.http.path, http.url).href }),
        ...(packetsTcp === undefined ? {} : { packetsTcp: packetsTcp.url }),
        ...(http === undefined || theaterMount === undefined ? {} : { theater: new URL(theaterMount.path, http.url).href }),
        ...(theater?.address === undefined ? {} : { theaterTcp: theater.address }),
      },
      ...(ground.data === undefined ? {} : { data: ground.data }),
      ...(ground.node === undefined ? {} : { node: ground.node }),
      unserved,
      stdioEnded: stdio?.closed ?? new Promise(() => undefined),
      async reload(next) {
        await theater?.endChannels();
        await engine[Symbol.asyncDispose]();
        theater?.leave();
        try {
          await serve(next);
          release(served, next);
          served = next;
          const before = JSON.stringify(unserved);
          unserved = await ground.served(whole(next));
          if (unserved.length > 0 && JSON.stringify(unserved) !== before) logUnserved(log, unserved);
        } catch (error) {
          await theater?.endChannels();
          await engine[Symbol.asyncDispose]();
          theater?.leave();
          await serve(served);
          release(next, served);
          throw error;
        }
      },
      async close(graceMs) {
        // The gateway first: open subscriptions end with their closing result, which needs an open door.
        const from = systemClock.now();
        stopping = true;
        await gateway.drain(graceMs);
        // One grace for all: what the gateway left over.
        await theater?.drain(Math.max(0, graceMs - (systemClock.now() - from)));
        const left = { graceMs: Math.max(0, graceMs - (systemClock.now() - from)) };
        await Promise.all(doors.map((close) => close(left)));
        await ground.drain(Math.max(0, graceMs - (systemClock.now() - from)));
        await closeAll();
      },
    };
  } catch (error) {
    await Promise.all(doors.map((close) => close({ graceMs: 0 })));
    await closeAll();
    throw error;
  }
};
