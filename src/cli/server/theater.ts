// Owns: WebAssembly guests of a server, Theater's protocol and its MCP interface. Does not own: both protocols (bridges/theater).
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  EngineStage,
  faceMessageBytes,
  saveChains,
  serveTheater,
  THEATER_INFO,
  theaterFace,
  type TheaterListener,
} from "../../bridges/theater/index.ts";
import type { Guests } from "../../bridges/wasm/index.ts";
import {
  type Engine,
  type Gateway,
  type HttpMount,
  type Json,
  type JsonObject,
  type Log,
  type MountRequest,
  systemClock,
} from "../../core/contract/index.ts";
import { normalizedPath, omitUndefined } from "../../core/contract/internal.ts";
import { memorySessionStore, memoryStreamStore, mendedSessionStores } from "../../core/store/index.ts";
import { sessionHooks, storeHooks } from "../../core/store/log-hooks.ts";
import { createGateway, refusal } from "../../mcp/gateway/index.ts";
import { usage } from "../command-error.ts";
import { DataDirectory } from "../data-directory.ts";
import { GuestRuntime } from "../guest-runtime.ts";
import type { LoadedModules } from "../load-modules.ts";
import { faultFields } from "../log.ts";
import type { ServeOptions } from "../serve-options.ts";
import { type ReplaceableSource, replaceableSource } from "./source.ts";

/** The scope that an operator's token needs. */
const OPERATOR_SCOPE = "troupe:operate";
const PATH = "/theater";

/** Throws a `CommandError` if every caller would be an operator. */
export function openTheater(options: ServeOptions, authenticated: boolean, log: Log): Theater {
  const { theater, manifests, auth, engine, http, stdio, tcp, insecure } = options;
  if (engine !== undefined) throw usage("Guests run in one process: leave --engine away, or --theater.");
  if (theater === true && !authenticated && auth)
    throw usage(
      `--theater is for operators: give --api-keys or --jwks, whose tokens carry the scope ${OPERATOR_SCOPE}, or say --no-auth, which lets in every caller on this machine's loopback.`,
    );
  if (!auth && insecure === true)
    throw usage("--no-auth takes operators from this machine alone, and does not go with --insecure: give --api-keys or --jwks beyond it.");
  if (theater === true && http === undefined && (stdio === true || tcp !== undefined))
    throw usage("--theater stands beside HTTP, and there is none: name --http too.");
  if (manifests !== undefined && !existsSync(manifests)) throw usage(`--manifests: there is no folder ${manifests}.`);
  return new Theater(options, authenticated, log);
}

/** Guests, and the operator's two interfaces: Theater's protocol and MCP. A reload calls `start` again. */
export class Theater implements AsyncDisposable {
  readonly #options: ServeOptions;
  readonly #log: Log;
  readonly #runtime: GuestRuntime;
  readonly #scope: string | undefined;
  #stage: EngineStage | undefined;
  #saving: (() => Promise<void>) | undefined;
  #mcp: McpInterface | undefined;
  #listener: TheaterListener | undefined;
  #port: number | undefined;

  constructor(options: ServeOptions, authenticated: boolean, log: Log) {
    this.#options = options;
    this.#log = log;
    this.#scope = authenticated ? OPERATOR_SCOPE : undefined;
    this.#runtime = new GuestRuntime(options.data, options.manifests, storeHooks(log));
  }

  /** The modules, with the kind of guests added. */
  withGuests(loaded: LoadedModules): LoadedModules {
    return {
      ...loaded,
      parts: [...loaded.parts, { kinds: [this.#runtime.guests.kind], cast: [], indexes: [], capabilities: [], sources: [] }],
    };
  }

  /** Runs guests on that engine from now on. */
  async start({ parts }: LoadedModules, { engine, data }: { readonly engine: Engine; readonly data: string | undefined }): Promise<void> {
    await this.#saving?.();
    const directory = data === undefined ? undefined : new DataDirectory(data);
    const isNew = directory?.holdsContents() === false;
    this.#runtime.attachEngine(
      engine,
      data,
      parts.flatMap((part) => part.kinds),
    );
    if (directory !== undefined && isNew) await this.#reportMissingContents(engine, directory.contents);
    const kinds = parts.flatMap((part) => part.cast);
    const onFault = (error: unknown): void => this.#log("error", { event: "stage-fault", ...faultFields(error, false) });
    const { guests } = this.#runtime;
    const stage = new EngineStage({ engine, guests, kinds, onFault });
    this.#stage = stage;
    if (data !== undefined) this.#saving = saveChains({ engine, stage, directory: join(data, "theater"), onFault });
    if (this.#options.theater === true) {
      const face = theaterFace({ stage, ...omitUndefined({ requireScope: this.#scope }) });
      this.#mcp = await McpInterface.replace(this.#mcp, face, data, this.#log);
    }
    const { theaterTcp: address, insecureNoAuth } = this.#options;
    if (address === undefined) return;
    // A reload keeps the port, also one that the system chose.
    const place = "port" in address && this.#port !== undefined ? { ...address, port: this.#port } : address;
    this.#listener = await serveTheater({ ...place, stage, clock: systemClock, log: this.#log, insecure: insecureNoAuth === true });
    this.#port = this.#listener.port;
  }

  /** Reports that the contents are missing, so that none of the stored guests can run. */
  async #reportMissingContents(engine: Engine, path: string): Promise<void> {
    const guests = await engine.count({ kind: this.#runtime.guests.kind.kind, live: true });
    if (guests === 0) return;
    const what =
      "Their manifests, components and states have gone, so none of them runs. Stop the server, and put this file back from a copy.";
    this.#log("error", { event: "contents-missing", path, guests, what });
  }

  /** Closes channels before the engine stops, while it can still deliver the close. */
  async closeChannels(): Promise<void> {
    await this.#listener?.close({ graceMs: 0 });
    this.#listener = undefined;
    await this.#stage?.[Symbol.asyncDispose]();
    this.#stage = undefined;
    await this.#mcp?.closeChannels();
  }

  /** Called when the engine has ended and another will follow. */
  detachEngine(): void {
    this.#runtime.detachEngine();
  }

  get guests(): Guests {
    return this.#runtime.guests;
  }

  /** The address of Theater's protocol. */
  get address(): string | undefined {
    return this.#listener?.url;
  }

  /** The limit of one message to the MCP interface. */
  readonly messageBytes = faceMessageBytes();

  /** The MCP interface; undefined without `--theater`. */
  mount(): HttpMount | undefined {
    const face = this.#mcp;
    if (face === undefined) return undefined;
    const scope = this.#scope;
    return {
      path: PATH,
      verbs: ["GET", "POST", "DELETE"],
      handle: (request: MountRequest) => {
        if (normalizedPath(request.path) !== PATH) return refusal("PATH", `There is nothing at this path: Theater is at ${PATH}.`);
        if (scope === undefined || request.caller.scopes.includes(scope)) return face.gateway.exchange(request);
        return refusal("SCOPE", `Theater is for operators: this needs a token with the scope ${scope}.`);
      },
    };
  }

  /** Performs the operations on guests. */
  operate(operation: string, args: JsonObject): Promise<Json | undefined> {
    return this.#runtime.operate(operation, args);
  }

  async drain(graceMs: number): Promise<void> {
    await this.#mcp?.gateway.drain(graceMs);
    await this.#listener?.close({ graceMs });
    await this.closeChannels();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closeChannels();
    // Last, since guests may stop, and their chains be saved, until the engine has ended.
    await this.#saving?.();
    await this.#mcp?.[Symbol.asyncDispose]();
    await this.#runtime[Symbol.asyncDispose]();
  }
}

type TheaterSource = ReturnType<typeof theaterFace>;

/** Theater's MCP server. Has its own gateway, since it is another server than that of the actors. */
class McpInterface implements AsyncDisposable {
  readonly gateway: Gateway;
  readonly #switched: ReplaceableSource;
  readonly #close: () => Promise<void>;
  #source: TheaterSource;

  private constructor(source: TheaterSource, data: string | undefined, log: Log) {
    this.#source = source;
    this.#switched = replaceableSource(source);
    const rows =
      data === undefined
        ? { sessions: memorySessionStore(), streams: memoryStreamStore() }
        : mendedSessionStores({
            path: join(data, "theater-sessions.db"),
            ...sessionHooks(log),
          });
    this.gateway = createGateway({
      source: this.#switched.source,
      info: THEATER_INFO,
      ...rows,
      listMode: { modern: "dynamic" },
      limits: { messageBytes: faceMessageBytes() },
      log,
    });
    this.#close = async () => {
      await this.gateway[Symbol.asyncDispose]();
      await rows.streams[Symbol.asyncDispose]();
      await rows.sessions[Symbol.asyncDispose]();
    };
  }

  /** Replaces the source of the one before, whose clients stay connected. */
  static async replace(before: McpInterface | undefined, source: TheaterSource, data: string | undefined, log: Log): Promise<McpInterface> {
    if (before === undefined) return new McpInterface(source, data, log);
    const old = before.#source;
    before.#source = source;
    before.#switched.replace(source);
    await old[Symbol.asyncDispose]();
    return before;
  }

  async closeChannels(): Promise<void> {
    await this.#source[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source[Symbol.asyncDispose]();
    await this.#close();
  }
}
