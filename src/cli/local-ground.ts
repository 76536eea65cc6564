import { existsSync } from "node:fs";
import type { Behaviour, Engine, Json, SessionStore, Store, StreamStore } from "../contract/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { memorySessionStore, memoryStreamStore, mendedSessionStores, sqliteStore } from "../store/index.ts";
import { serveControl } from "./control.ts";
import { DataDirectory } from "./data-directory.ts";
import { faultFields } from "./fault-fields.ts";
import type { Ground, GroundOptions } from "./ground.ts";
import type { Loaded, Part } from "./load.ts";
import { operate } from "./operate.ts";
import { type KindCount, unservedKinds } from "./unserved.ts";

interface Keep {
  readonly directory: DataDirectory | undefined;
  readonly store: Store | undefined;
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

const keepsFiles = (parts: readonly Part[]): boolean =>
  parts.some(({ kinds, capabilities }) => capabilities.length > 0 || kinds.some((kind) => kind.policy.persistence === "disk"));

const open = (loaded: Loaded, { options, dev, log }: GroundOptions): Keep => {
  // Memory actors alone leave nothing behind, so they need no directory either.
  if (dev === undefined && !keepsFiles(loaded.parts))
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

/** Actors in this process, on disk where a kind is. */
export class LocalGround implements Ground {
  readonly node = undefined;
  readonly peers = undefined;
  readonly key: Uint8Array | undefined;
  readonly #how: GroundOptions;
  readonly #keep: Keep;
  #engine: LocalEngine | undefined;
  #closeControl: (() => PromiseLike<void> | void) | undefined;

  constructor(loaded: Loaded, how: GroundOptions) {
    this.#how = how;
    this.#keep = open(loaded, how);
    this.key = this.#keep.directory?.key((bytes) =>
      how.log("warn", "key-replaced", {
        bytes,
        what: "The key was damaged: what clients were handed before, such as handles, may be refused.",
      }),
    );
  }

  get sessions(): SessionStore {
    return this.#keep.sessions;
  }

  get streams(): StreamStore {
    return this.#keep.streams;
  }

  get data(): string | undefined {
    return this.#keep.directory?.path;
  }

  async start({ parts }: Loaded): Promise<Engine> {
    const { dev, log, inFull } = this.#how;
    const { store } = this.#keep;
    const prepare = (kind: Behaviour): Behaviour => (dev === undefined ? kind : dev(kept(kind)));
    this.#engine = await LocalEngine.start({
      kinds: parts.flatMap((part) => part.kinds.map(prepare)),
      ...(store === undefined ? {} : { store }),
      onFault: (error, context) => log("error", "fault", { ...faultFields(error, inFull), ...context }),
    });
    return this.#engine;
  }

  /** Notes what is served, for the commands beside this server. */
  async served({ parts, files }: Loaded): Promise<readonly KindCount[]> {
    const { directory, store } = this.#keep;
    if (directory === undefined || store === undefined) return [];
    const kinds = parts.flatMap((part) => part.kinds.map(({ kind }) => kind));
    directory.writeNote({ pid: process.pid, modules: files, kinds });
    try {
      return await unservedKinds(store, new Set(kinds));
    } catch (error) {
      this.#how.log("error", "fault", { where: "unserved-kinds", ...faultFields(error, this.#how.inFull) });
      return [];
    }
  }

  async open(more?: Parameters<Ground["open"]>[0]): Promise<void> {
    const { directory, store } = this.#keep;
    if (directory === undefined || store === undefined) return;
    directory.removeSocket();
    const handle = async (operation: string, args: Readonly<Record<string, Json>>): Promise<Json> => {
      if (this.#engine === undefined) throw new TypeError("No engine has started.");
      return (await more?.(operation, args)) ?? (await operate({ engine: this.#engine, store })(operation, args));
    };
    this.#closeControl = await serveControl(directory.control, handle);
  }

  async drain(): Promise<void> {
    // Whatever runs here runs for callers of this process, and its gateway has waited for them.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closeControl !== undefined) {
      this.#keep.directory?.removeSocket();
      await this.#closeControl();
    }
    await this.#engine?.[Symbol.asyncDispose]();
    await this.#keep.streams[Symbol.asyncDispose]();
    await this.#keep.sessions[Symbol.asyncDispose]();
    await this.#keep.store?.[Symbol.asyncDispose]();
  }
}
