// Owns: capabilities of a server, by packets and MCP, with their configuration file. Does not own: the protocol (bridges/packet).
import { statSync } from "node:fs";
import { extname } from "node:path";
import { parse } from "yaml";
import type { LiveRecorder, PacketsData, PacketTransport } from "../../bridges/console/index.ts";
import {
  Capabilities,
  type Capability,
  capabilityOf,
  type Config,
  type ForeignServers,
  foreignServers,
  type PacketEndpoints,
  packetEndpoints,
  PacketError,
  PacketFlow,
  type PacketSession,
  planChain,
  readConfig,
  type Reception,
  REQUEST_PACKET_SCHEMA,
  type Searches,
  searchesOf,
} from "../../bridges/packet/index.ts";
import {
  type ActorId,
  type Caller,
  defaultRate,
  type Engine,
  type Log,
  type Rate,
  type Source,
  systemClock,
  TokenBuckets,
  TroupeError,
} from "../../core/contract/index.ts";
import { messageOf, omitUndefined, peerOf } from "../../core/contract/internal.ts";
import type { CastOptions } from "../../mcp/source/index.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { DataDirectory } from "../data-directory.ts";
import { readTextFile } from "../files.ts";
import { capabilityActors, type LoadedModules } from "../load-modules.ts";
import { faultFields } from "../log.ts";
import type { ServeOptions } from "../serve-options.ts";

/** Opens packets with the configured file. Throws a `CommandError` if their callers would be unknown. */
export function openPackets(options: ServeOptions, authenticated: boolean, log: Log): Packets {
  const { packets, auth, packetConfig: config, rate, insecure, http, stdio, tcp } = options;
  if (packets !== undefined && !authenticated && auth)
    throw usage(
      "--packets needs to know its callers: give --api-keys or --jwks, or say --no-auth, which takes guests from this machine alone.",
    );
  if (packets === true && http === undefined && (stdio === true || tcp !== undefined))
    throw usage("--packets stands beside HTTP, and there is none: name --http too, or an address of its own (--packets 127.0.0.1:4000).");
  if (!auth && insecure === true)
    throw usage("--no-auth takes guests from this machine alone, and does not go with --insecure: give --api-keys or --jwks beyond it.");
  if (packets !== undefined) log("info", { event: "packets", callers: authenticated ? "authenticated" : "guests" });
  return new Packets({
    config: config === undefined ? readConfig({}) : readConfigFile(config),
    named: config !== undefined,
    detailedFaults: options.log === "debug",
    log,
    everyActor: packets !== undefined,
    ...(rate === undefined ? {} : { rate: rate === 0 ? false : { perSecond: rate, burst: rate * 2 } }),
  });
}

const UPSTREAM_TIMEOUT_MS = 30_000;

interface PacketsOptions {
  readonly config: Config;
  /** Use the configuration's name as the server's name. */
  readonly named: boolean;
  readonly log: Log;
  /** False for no limit. Default: depends on whether the caller is local. */
  readonly rate?: Rate | false;
  /** Let packets reach actors that are not capabilities, too. */
  readonly everyActor: boolean;
  /** Log the messages of author errors, too. */
  readonly detailedFaults: boolean;
}

/** The engine and directory of the capabilities' actors. */
interface PacketsTarget {
  readonly engine: Engine;
  /** The folder of the search index; undefined for one in memory. */
  readonly data: string | undefined;
  readonly handles: CastOptions["handles"];
}

/** The capabilities that are served, by packets and by MCP. A reload calls `start` again. */
export class Packets implements AsyncDisposable {
  readonly #options: PacketsOptions;
  readonly #servers: ForeignServers;
  readonly #buckets = new TokenBuckets(systemClock);
  #flow: PacketFlow | undefined;
  #searches: Searches | undefined;
  #source: (Source & Disposable) | undefined;

  constructor(options: PacketsOptions) {
    this.#options = options;
    this.#servers = foreignServers({
      servers: options.config.mcp.servers,
      clock: systemClock,
      // Includes connecting, so at least this long even if tools have a shorter timeout; calls have a timeout of their own.
      timeoutMs: Math.max(UPSTREAM_TIMEOUT_MS, options.config.mcp.tool_timeout),
      log: (server, line) => options.log("info", { event: "tool-server", server, line }),
    });
  }

  /** Name and version for MCP; undefined for the server's own. */
  get info(): { readonly name: string; readonly version: string } | undefined {
    const { named, config } = this.#options;
    return named ? { name: config.mcp.server_name, version: config.mcp.server_version } : undefined;
  }

  /** The modules, with the configuration applied to their capabilities. */
  configured(loaded: LoadedModules): LoadedModules {
    const { config } = this.#options;
    const { persistence_strategy: persistence, default_timeout: idleMs } = config.actors;
    const given = { servers: this.#servers, persistence, idleMs, clock: systemClock };
    const parts = loaded.parts.map((part) => {
      const capabilities = new Capabilities(part.capabilities, given).list();
      return { ...part, capabilities, kinds: [...part.cast, ...capabilityActors(capabilities)] };
    });
    return { ...loaded, parts };
  }

  /** Runs the capabilities on that engine from now on. Returns their MCP source; undefined if there are none. */
  async start({ parts }: LoadedModules, { engine, data, handles }: PacketsTarget): Promise<Source | undefined> {
    const { config, log, rate, everyActor } = this.#options;
    const given = parts.flatMap(({ capabilities }) => capabilities);
    await this.#release();
    const file = data === undefined ? ":memory:" : new DataDirectory(data).search;
    this.#searches = searchesOf(given, engine, file, (error) =>
      log("error", { event: "search-fault", ...faultFields(error, this.#options.detailedFaults) }),
    );
    const declared = [...given, ...(this.#searches?.capabilities ?? [])];
    const actors = everyActor ? parts.flatMap(({ cast }) => cast).map((kind) => capabilityOf(kind)) : [];
    const flow = new PacketFlow({
      capabilities: new Capabilities([...declared, ...actors]),
      engine,
      ...omitUndefined({ handles }),
      servers: this.#servers,
      actors: {
        defaultTimeoutMs: config.actors.default_timeout,
        maxPerUser: config.actors.max_actors_per_user,
        replyMs: config.mcp.tool_timeout,
      },
      executionMs: config.mcp.tool_timeout,
      admit: (caller) => (rate === false ? undefined : this.#over(caller, rate)),
      onFault: (error, about) => log("error", { event: "packet-fault", ...about, ...faultFields(error, this.#options.detailedFaults) }),
    });
    this.#flow = flow;
    flow.onEffect((emitted) => {
      // The log adds the time itself.
      const { effect, error, at: _when, ...about } = emitted;
      const record = { event: effect.effect, name: effect.name, ...about, ...omitUndefined({ error }) };
      log(effect.effect === "audit_log" ? effect.level : "debug", record);
    });
    if (declared.length + actors.length === 0) return undefined;
    const { expose_capabilities: expose, auto_generate_tools: generate, tool_timeout: toolTimeoutMs } = config.mcp;
    this.#source = flow.source({ expose, generate, toolTimeoutMs, log });
    return this.#source;
  }

  #over(
    { principal, peer }: Caller,
    rate = defaultRate(peer),
  ): { readonly limit: number; readonly used: number; readonly reset: number } | undefined {
    const reset = this.#buckets.take(principal ?? peerOf(peer), rate);
    return reset === 0 ? undefined : { limit: rate.burst, used: rate.burst, reset };
  }

  /** The endpoints for packets. A recorder, if given, sees all packets. */
  endpoints(live: LiveRecorder | undefined): PacketEndpoints {
    const current = (): PacketFlow => {
      if (this.#flow === undefined) throw new Error("Packets came before there was anything to run them.");
      return this.#flow;
    };
    const open = (reception: Reception): PacketSession => {
      let flow = current();
      let session = flow.open(reception);
      return {
        // A reload makes another flow; connected clients continue with it.
        receive(text) {
          if (flow !== current()) {
            flow = current();
            session = flow.open(reception);
          }
          return session.receive(text);
        },
        close: () => session.close(),
      };
    };
    const over = (transport: PacketTransport): PacketEndpoints =>
      packetEndpoints(live?.packets({ open }, transport) ?? { open }, { schema: REQUEST_PACKET_SCHEMA });
    return { http: over("packets-http").http, webSocket: over("packets-websocket").webSocket, tcp: over("packets-tcp").tcp };
  }

  get forConsole(): PacketsData {
    const list = (): readonly Capability[] => this.#flow?.capabilities.list() ?? [];
    return {
      capabilities: list,
      plan: (from, to) => planChain(list(), from, to)?.steps,
      search: async (query, options) => await this.#searches?.find(query, options).catch(throwAsTroupeError),
    };
  }

  /** Bodies of these actors were erased, or the actors removed. */
  erased(ids: readonly ActorId[]): void {
    this.#searches?.erased(ids);
  }

  tunnelTo(gateway: Parameters<PacketFlow["tunnelTo"]>[0]): void {
    this.#flow?.tunnelTo(gateway);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#release();
    await this.#servers[Symbol.asyncDispose]();
  }

  async #release(): Promise<void> {
    this.#source?.[Symbol.dispose]();
    this.#source = undefined;
    await this.#searches?.[Symbol.asyncDispose]();
    await this.#flow?.[Symbol.asyncDispose]();
  }
}

const throwAsTroupeError = (error: unknown): never => {
  if (!(error instanceof PacketError)) throw error;
  throw new TroupeError(error.type === "validation_failed" ? "BAD_QUERY" : "UNAVAILABLE", error.message, { cause: error });
};

const MOST_BYTES = 1_048_576;

/** Reads the configuration of capabilities: JSON or YAML, by the extension. Throws a `CommandError` that names the file. */
export function readConfigFile(path: string): Config {
  const parsed = parserFor(path);
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES)
    throw usage(`--packet-config: ${path} has more than ${MOST_BYTES} bytes: this is no configuration.`);
  const text = readTextFile(path, "--packet-config");
  let value: unknown;
  try {
    value = parsed(text);
  } catch (error) {
    // The further lines of a parser's message quote the text.
    const [why = ""] = messageOf(error).split("\n");
    throw usage(`--packet-config: ${path} cannot be read: ${why.replace(/[.:]$/, "")}.`);
  }
  try {
    return readConfig(value);
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    throw new CommandError(EXIT.usage, error.code, `${path}: ${error.message}`);
  }
}

function parserFor(path: string): (text: string) => unknown {
  const extension = extname(path).toLowerCase();
  if (extension === ".json") return (text): unknown => JSON.parse(text);
  if (extension === ".yaml" || extension === ".yml") return (text): unknown => parse(text);
  throw usage(`--packet-config takes a file that ends in .json, .yaml or .yml, not ${path}.`);
}
