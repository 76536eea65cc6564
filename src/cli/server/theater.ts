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
import { omitUndefined } from "../../core/contract/internal.ts";
import { memorySessionStore, memoryStreamStore, mendedSessionStores } from "../../core/store/index.ts";
import { sessionHooks, storeHooks } from "../../core/store/log-hooks.ts";
import { createGateway, refusal } from "../../mcp/gateway/index.ts";
import { usage } from "../command-error.ts";
import { DataDirectory } from "../data-directory.ts";
import { GuestHouse } from "../guest-runtime.ts";
import type { Loaded } from "../load-modules.ts";
import { faultFields } from "../log.ts";
import type { ServeOptions } from "../serve-options.ts";
import { type Switched, switchSource } from "./source.ts";

/** What an operator's token must carry. */
const OPERATE = "troupe:operate";
const PATH = "/theater";

/** Throws a `CommandError` where anybody at all would be an operator. */
export function openTheater(options: ServeOptions, known: boolean, log: Log): Theater {
  const { theater, manifests, auth, engine, http, stdio, tcp, insecure } = options;
  if (engine !== undefined) throw usage("Guests run in one process: leave --engine away, or --theater.");
  if (theater === true && !known && auth)
    throw usage(
      `--theater is for operators: give --api-keys or --jwks, whose tokens carry the scope ${OPERATE}, or say --no-auth, which lets in every caller on this machine's loopback.`,
    );
  if (!auth && insecure === true)
    throw usage("--no-auth takes operators from this machine alone, and does not go with --insecure: give --api-keys or --jwks beyond it.");
  if (theater === true && http === undefined && (stdio === true || tcp !== undefined))
    throw usage("--theater stands beside HTTP, and there is none: name --http too.");
  if (manifests !== undefined && !existsSync(manifests)) throw usage(`--manifests: there is no folder ${manifests}.`);
  return new Theater(options, known, log);
}

/** Guests, and the operator's two listeners: Theater's protocol and its MCP face. Other modules come with a reload. */
export class Theater implements AsyncDisposable {
  readonly #options: ServeOptions;
  readonly #log: Log;
  readonly #house: GuestHouse;
  readonly #scope: string | undefined;
  #stage: EngineStage | undefined;
  #saving: (() => Promise<void>) | undefined;
  #face: Face | undefined;
  #listener: TheaterListener | undefined;
  #port: number | undefined;

  constructor(options: ServeOptions, known: boolean, log: Log) {
    this.#options = options;
    this.#log = log;
    this.#scope = known ? OPERATE : undefined;
    this.#house = new GuestHouse(options.data, options.manifests, storeHooks(log));
  }

  /** The modules, and guests beside them. */
  prepared(loaded: Loaded): Loaded {
    return {
      ...loaded,
      parts: [...loaded.parts, { kinds: [this.#house.guests.kind], cast: [], indexes: [], capabilities: [], sources: [] }],
    };
  }

  /** From now on guests run on that engine. */
  async start({ parts }: Loaded, { engine, data }: { readonly engine: Engine; readonly data: string | undefined }): Promise<void> {
    await this.#saving?.();
    const directory = data === undefined ? undefined : new DataDirectory(data);
    const isNew = directory?.holdsContents() === false;
    this.#house.open(
      engine,
      data,
      parts.flatMap((part) => part.kinds),
    );
    if (directory !== undefined && isNew) await this.#tellLoss(engine, directory.contents);
    const kinds = parts.flatMap((part) => part.cast);
    const onFault = (error: unknown): void => this.#log("error", { event: "stage-fault", ...faultFields(error, false) });
    const { guests } = this.#house;
    const stage = new EngineStage({ engine, guests, kinds, onFault });
    this.#stage = stage;
    if (data !== undefined) this.#saving = saveChains({ engine, stage, directory: join(data, "theater"), onFault });
    if (this.#options.theater === true) {
      const face = theaterFace({ stage, ...omitUndefined({ requireScope: this.#scope }) });
      this.#face = await Face.show(this.#face, face, data, this.#log);
    }
    const { theaterTcp: address, insecureNoAuth } = this.#options;
    if (address === undefined) return;
    // After a reload where it was before, also where any port was asked for.
    const place = "port" in address && this.#port !== undefined ? { ...address, port: this.#port } : address;
    this.#listener = await serveTheater({ ...place, stage, clock: systemClock, log: this.#log, insecure: insecureNoAuth === true });
    this.#port = this.#listener.port;
  }

  /** Contents were begun anew: none of the guests that are there can run. */
  async #tellLoss(engine: Engine, path: string): Promise<void> {
    const guests = await engine.count({ kind: this.#house.guests.kind.kind, live: true });
    if (guests === 0) return;
    const what =
      "Their manifests, components and states have gone, so none of them runs. Stop the server, and put this file back from a copy.";
    this.#log("error", { event: "contents-missing", path, guests, what });
  }

  /** That engine is about to end: who holds channels closes them while it still delivers that. */
  async endChannels(): Promise<void> {
    await this.#listener?.close({ graceMs: 0 });
    this.#listener = undefined;
    await this.#stage?.[Symbol.asyncDispose]();
    this.#stage = undefined;
    await this.#face?.endChannels();
  }

  /** That engine has ended, and another comes. */
  leave(): void {
    this.#house.leave();
  }

  get guests(): Guests {
    return this.#house.guests;
  }

  /** Where Theater's protocol is spoken. */
  get address(): string | undefined {
    return this.#listener?.url;
  }

  /** Of one message to the MCP face. */
  readonly messageBytes = faceMessageBytes();

  /** The MCP face. Undefined: it was not asked for. */
  mount(): HttpMount | undefined {
    const face = this.#face;
    if (face === undefined) return undefined;
    const scope = this.#scope;
    return {
      path: PATH,
      verbs: ["GET", "POST", "DELETE"],
      handle: (request: MountRequest) => {
        if (request.path !== PATH) return refusal("PATH", `There is nothing at this path: Theater is at ${PATH}.`);
        if (scope === undefined || request.caller.scopes.includes(scope)) return face.gateway.exchange(request);
        return refusal("SCOPE", `Theater is for operators: this needs a token with the scope ${scope}.`);
      },
    };
  }

  /** What commands may ask about guests. */
  operate(operation: string, args: JsonObject): Promise<Json | undefined> {
    return this.#house.operate(operation, args);
  }

  async drain(graceMs: number): Promise<void> {
    await this.#face?.gateway.drain(graceMs);
    await this.#listener?.close({ graceMs });
    await this.endChannels();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endChannels();
    // Until the engine has ended, guests may stop whose chains are to be saved.
    await this.#saving?.();
    await this.#face?.[Symbol.asyncDispose]();
    await this.#house[Symbol.asyncDispose]();
  }
}

type Shown = ReturnType<typeof theaterFace>;

/** A gateway of its own: another server to its clients than the actors' one. */
class Face implements AsyncDisposable {
  readonly gateway: Gateway;
  readonly #switched: Switched;
  readonly #close: () => Promise<void>;
  #shown: Shown;

  private constructor(shown: Shown, data: string | undefined, log: Log) {
    this.#shown = shown;
    this.#switched = switchSource(shown);
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

  /** In the place of the one before, whose clients stay. */
  static async show(before: Face | undefined, shown: Shown, data: string | undefined, log: Log): Promise<Face> {
    if (before === undefined) return new Face(shown, data, log);
    const old = before.#shown;
    before.#shown = shown;
    before.#switched.replace(shown);
    await old[Symbol.asyncDispose]();
    return before;
  }

  async endChannels(): Promise<void> {
    await this.#shown[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#shown[Symbol.asyncDispose]();
    await this.#close();
  }
}
