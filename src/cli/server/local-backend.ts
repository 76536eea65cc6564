import { existsSync } from "node:fs";
import type { Behaviour, Engine, Json, JsonObject, SessionStore, Store, StreamStore, TaskStore } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memorySessionStore, memoryStreamStore } from "../../core/store/memory-sessions.ts";
import { DataDirectory } from "../data-directory.ts";
import { indexesOf, type Loaded, type Part } from "../load-modules.ts";
import { faultFields, forLog, thrownBy } from "../log.ts";
import { openWhenFree } from "../open-store.ts";
import { type Ground, type GroundOptions, type KindCount, unservedKinds } from "./backend.ts";

const keepsFiles = (parts: readonly Part[]): boolean =>
  parts.some(({ kinds, capabilities }) => capabilities.length > 0 || kinds.some((kind) => kind.policy.persistence === "disk"));

/** In development a reload ends the engine, and what only lived in memory must outlive that. */
const kept = (kind: Behaviour): Behaviour => {
  if (kind.policy.persistence !== "memory") return kind;
  const policy: Behaviour["policy"] = { ...kind.policy, persistence: "disk" };
  return Object.create(kind, { policy: { value: policy, enumerable: true } });
};

/** Actors in this process, on disk where a kind is. */
export class LocalGround implements Ground {
  readonly node = undefined;
  readonly peers = undefined;
  readonly key: Uint8Array | undefined;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly taskStore: TaskStore | undefined;
  kinds: readonly Behaviour[] = [];
  readonly #how: GroundOptions;
  readonly #disk: DiskKeep | undefined;
  #engine: LocalEngine | undefined;
  #closeControl: (() => PromiseLike<void> | void) | undefined;
  #beside: Parameters<Ground["open"]>[0] | undefined;

  private constructor(disk: DiskKeep | undefined, how: GroundOptions) {
    this.#how = how;
    this.#disk = disk;
    this.sessions = disk?.sessions ?? memorySessionStore();
    this.streams = disk?.streams ?? memoryStreamStore();
    this.taskStore = disk?.taskStore;
    this.key = disk?.directory.key((bytes) =>
      how.log("warn", "key-replaced", {
        bytes,
        what: "The key was damaged or has gone: what clients were handed before, such as handles, may be refused.",
      }),
    );
  }

  static async open(loaded: Loaded, how: GroundOptions): Promise<LocalGround> {
    // Memory actors alone leave nothing behind, so they need no directory either, nor what reads and writes one.
    const isKept = how.dev !== undefined || keepsFiles(loaded.parts);
    return new LocalGround(isKept ? await openDisk(how) : undefined, how);
  }

  get data(): string | undefined {
    return this.#disk?.directory.path;
  }

  get store(): Store | undefined {
    return this.#disk?.store;
  }

  get fault(): Error | undefined {
    return this.#disk?.store.fault;
  }

  async start(loaded: Loaded): Promise<Engine> {
    const { parts } = loaded;
    const { dev, log, inFull, observer } = this.#how;
    const store = this.#disk?.store;
    const prepare = (kind: Behaviour): Behaviour => (dev === undefined ? kind : dev(kept(kind)));
    const kinds = parts.flatMap((part) => part.kinds.map(prepare));
    this.kinds = kinds;
    this.#engine = await LocalEngine.start({
      kinds,
      indexes: indexesOf(loaded),
      ...omitUndefined({ store, observer }),
      onIndexProgress: ({ index, actors, of, isDone }) => log("info", isDone ? "index-built" : "index-building", { index, actors, of }),
      onFault(error, context) {
        const hasSecrets = context.hasSecrets === true;
        log("error", "fault", { ...faultFields(error, inFull && !hasSecrets), ...context }, thrownBy(error, hasSecrets));
      },
      onSlowTurn: ({ actor, action, ms }) => log("warn", "turn-slow", { actor, action, ms }),
    });
    return this.#engine;
  }

  /** Notes what is served, for the commands beside this server. */
  async served({ parts, files }: Loaded): Promise<readonly KindCount[]> {
    if (this.#disk === undefined) return [];
    const { directory, store } = this.#disk;
    const kinds = parts.flatMap((part) => part.kinds.map(({ kind }) => kind));
    directory.writeNote({ pid: process.pid, modules: files, kinds });
    try {
      return await unservedKinds(store, new Set(kinds));
    } catch (error) {
      this.#how.log("error", "fault", { where: "unserved-kinds", ...faultFields(error, this.#how.inFull) });
      return [];
    }
  }

  async open(beside: Parameters<Ground["open"]>[0]): Promise<void> {
    this.#beside = beside;
    if (this.#disk === undefined) return;
    const { more, erased } = beside;
    const { directory, store } = this.#disk;
    const { serveControl } = await import("../control-socket.ts");
    const handle = async (operation: string, args: JsonObject): Promise<Json> => {
      if (this.#engine === undefined) throw new TypeError("No engine has started.");
      const done = await more?.(operation, args);
      if (done !== undefined) return done;
      const { operate } = await import("../operations.ts");
      const { dev, options } = this.#how;
      const edit = dev !== undefined || options.allowEdit === true;
      return await operate({ directory: directory.path, engine: this.#engine, kinds: this.kinds, store, edit, erased })(operation, args);
    };
    this.#closeControl = await serveControl(directory.control, handle);
  }

  async operate(operation: string, args: JsonObject): Promise<Json> {
    if (this.#engine === undefined) throw new TypeError("No engine has started.");
    const { engineOperations } = await import("../../bridges/operate/index.ts");
    const { store, kinds } = this;
    const operations = engineOperations({ engine: this.#engine, kinds, ...omitUndefined({ store, erased: this.#beside?.erased }) });
    return await operations(operation, args);
  }

  async drain(graceMs: number): Promise<void> {
    // Calls of other commands come through no gateway, and what a wake or a send began has no caller here.
    await this.#engine?.drain(graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closeControl?.();
    await this.#engine?.[Symbol.asyncDispose]();
    await this.streams[Symbol.asyncDispose]();
    await this.sessions[Symbol.asyncDispose]();
    await this.#disk?.store[Symbol.asyncDispose]();
  }
}

/** A data directory that is this process's. */
interface DiskKeep {
  readonly directory: DataDirectory;
  readonly store: Store;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly taskStore: TaskStore;
}

const openDisk = async ({ options, log }: Pick<GroundOptions, "options" | "log">): Promise<DiskKeep> => {
  // Each by its own file: the folder's index would load exports, imports and contents, too.
  const [{ sqliteStore }, { mendedSessionStores }, { sessionHooks, storeHooks }] = await Promise.all([
    import("../../core/store/sqlite.ts"),
    import("../../core/store/sqlite-sessions.ts"),
    import("../../core/store/log-hooks.ts"),
  ]);
  const directory = new DataDirectory(options.data);
  directory.create();
  if (directory.isOpenToOthers)
    log("warn", "data-directory-shared", {
      path: directory.path,
      what: "Others may write to the data directory, and so change actors, keys and what is run: make it yours alone (chmod 700).",
    });
  directory.refuseLoss();
  const isNew = !existsSync(directory.actors);
  const store = await openWhenFree(() => sqliteStore({ directory: directory.path, ...storeHooks(forLog(log)) }), directory.control);
  if (!isNew && !directory.holdsSessions)
    log("warn", "sessions-missing", { path: directory.sessions, what: "Clients begin new sessions; actors are all there." });
  const stores = mendedSessionStores({
    path: directory.sessions,
    ...sessionHooks(forLog(log)),
  });
  return { directory, store, ...stores };
};
