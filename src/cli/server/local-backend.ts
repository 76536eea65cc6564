// Owns: actors in this process, on disk if a kind is. Does not own: the engine and the stores (core).
import type { Behaviour, Engine, Json, JsonObject, SessionStore, Store, StreamStore, TaskStore } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { DataDirectory } from "../data-directory.ts";
import { whyUnwritable } from "../files.ts";
import { indexesOf, type LoadedModules, type LoadedModule } from "../load-modules.ts";
import { faultFields, toLog, thrownBy } from "../log.ts";
import { openWhenUnlocked } from "../open-store.ts";
import { type Backend, type BackendOptions, type KindCount, unservedKinds } from "./backend.ts";

const needsDisk = (parts: readonly LoadedModule[]): boolean =>
  parts.some(({ kinds, capabilities }) => capabilities.length > 0 || kinds.some((kind) => kind.policy.persistence === "disk"));

/** In development, memory actors are stored too, since a reload replaces the engine. */
const persisted = (kind: Behaviour): Behaviour => {
  if (kind.policy.persistence !== "memory") return kind;
  const policy: Behaviour["policy"] = { ...kind.policy, persistence: "disk" };
  return Object.create(kind, { policy: { value: policy, enumerable: true } });
};

/** Actors in this process, stored on disk if their kind says so. */
export class LocalBackend implements Backend {
  readonly node = undefined;
  readonly peers = undefined;
  readonly key: Uint8Array | undefined;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly taskStore: TaskStore | undefined;
  kinds: readonly Behaviour[] = [];
  readonly #options: BackendOptions;
  readonly #disk: DiskStores | undefined;
  #engine: LocalEngine | undefined;
  #closeControl: (() => PromiseLike<void> | void) | undefined;
  #hooks: Parameters<Backend["openCommands"]>[0] | undefined;

  private constructor({ sessions, streams }: SessionStores, disk: DiskStores | undefined, backendOptions: BackendOptions) {
    this.#options = backendOptions;
    this.#disk = disk;
    this.sessions = sessions;
    this.streams = streams;
    this.taskStore = disk?.taskStore;
    this.key = disk?.directory.key((bytes) =>
      backendOptions.log("warn", "key-replaced", {
        bytes,
        what: "The key was damaged or has gone: what clients were handed before, such as handles, may be refused.",
      }),
    );
  }

  static async open(loaded: LoadedModules, backendOptions: BackendOptions): Promise<LocalBackend> {
    // Memory actors alone need no directory, and none of the code for one.
    const usesDisk = backendOptions.prepareKind !== undefined || needsDisk(loaded.parts);
    const disk = usesDisk ? await openDisk(backendOptions) : undefined;
    return new LocalBackend(disk ?? (await memoryStores()), disk, backendOptions);
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

  async start(loaded: LoadedModules): Promise<Engine> {
    const { parts } = loaded;
    const { prepareKind, log, detailedFaults, observer } = this.#options;
    const store = this.#disk?.store;
    const prepare = (kind: Behaviour): Behaviour => (prepareKind === undefined ? kind : prepareKind(persisted(kind)));
    const kinds = parts.flatMap((part) => part.kinds.map(prepare));
    this.kinds = kinds;
    this.#engine = await LocalEngine.start({
      kinds,
      indexes: indexesOf(loaded),
      ...omitUndefined({ store, observer }),
      onIndexProgress: ({ index, actors, of, isDone }) => log("info", isDone ? "index-built" : "index-building", { index, actors, of }),
      onFault(error, context) {
        const hasSecrets = context.hasSecrets === true;
        log("error", "fault", { ...faultFields(error, detailedFaults && !hasSecrets), ...context }, thrownBy(error, hasSecrets));
      },
      onSlowTurn: ({ actor, action, ms }) => log("warn", "turn-slow", { actor, action, ms }),
    });
    return this.#engine;
  }

  /** Stores what is served in the note, for commands on this directory. */
  async recordServed({ parts, files }: LoadedModules): Promise<readonly KindCount[]> {
    if (this.#disk === undefined) return [];
    const { directory, store } = this.#disk;
    const kinds = parts.flatMap((part) => part.kinds.map(({ kind }) => kind));
    try {
      directory.writeNote({ pid: process.pid, modules: files, kinds });
    } catch (error) {
      // On a full disk, what reads is still served; only commands miss the note.
      this.#options.log("warn", "note-not-written", { path: directory.path, why: whyUnwritable(error) });
    }
    try {
      return await unservedKinds(store, new Set(kinds));
    } catch (error) {
      this.#options.log("error", "fault", { where: "unserved-kinds", ...faultFields(error, this.#options.detailedFaults) });
      return [];
    }
  }

  async openCommands(hooks: Parameters<Backend["openCommands"]>[0]): Promise<void> {
    this.#hooks = hooks;
    if (this.#disk === undefined) return;
    const { more, erased } = hooks;
    const { directory, store } = this.#disk;
    const { serveControl } = await import("../control-socket.ts");
    const handle = async (operation: string, args: JsonObject): Promise<Json> => {
      if (this.#engine === undefined) throw new TypeError("No engine has started.");
      const done = await more?.(operation, args);
      if (done !== undefined) return done;
      const { engineHandler } = await import("../operations.ts");
      const { prepareKind, options } = this.#options;
      const edit = prepareKind !== undefined || options.allowEdit === true;
      return await engineHandler({ directory: directory.path, engine: this.#engine, kinds: this.kinds, store, edit, erased })(
        operation,
        args,
      );
    };
    this.#closeControl = await serveControl(directory.control, handle);
  }

  async operate(operation: string, args: JsonObject): Promise<Json> {
    if (this.#engine === undefined) throw new TypeError("No engine has started.");
    const { engineOperations } = await import("../../bridges/operate/index.ts");
    const { store, kinds } = this;
    const operations = engineOperations({ engine: this.#engine, kinds, ...omitUndefined({ store, erased: this.#hooks?.erased }) });
    return await operations(operation, args);
  }

  async drain(graceMs: number): Promise<void> {
    // Calls by commands, timers and sends do not pass the gateway, so the engine drains by itself.
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

interface SessionStores {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

const memoryStores = async (): Promise<SessionStores> => {
  const { memorySessionStore, memoryStreamStore } = await import("../../core/store/memory-sessions.ts");
  return { sessions: memorySessionStore(), streams: memoryStreamStore() };
};

/** The stores of a data directory that this process holds. */
interface DiskStores extends SessionStores {
  readonly directory: DataDirectory;
  readonly store: Store;
  readonly taskStore: TaskStore;
}

const openDisk = async ({ options, log }: Pick<BackendOptions, "options" | "log">): Promise<DiskStores> => {
  // By their own files: the folder's index would load exports, imports and contents, too.
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
  directory.refuseMissingStore();
  const store = await openWhenUnlocked(() => sqliteStore({ directory: directory.path, ...storeHooks(toLog(log)) }), directory.control);
  // Without a note no server has stored any: actors may be from commands, or imported.
  if (directory.readNote() !== undefined && !directory.holdsSessions)
    log("warn", "sessions-missing", { path: directory.sessions, what: "Clients begin new sessions; actors are all there." });
  const stores = mendedSessionStores({
    path: directory.sessions,
    ...sessionHooks(toLog(log)),
  });
  return { directory, store, ...stores };
};
