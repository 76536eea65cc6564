// Owns: what WebAssembly guests run in, and the operations on them. Does not own: their protocols (server/theater.ts).
import { join, resolve } from "node:path";
import { ChainTails } from "../bridges/theater/index.ts";
import { createGuests, type Guests, ManifestFinder } from "../bridges/wasm/index.ts";
import {
  type ActorId,
  type Behaviour,
  type Collected,
  type ContentStore,
  type Digest,
  type Engine,
  EngineError,
  type Json,
  type JsonObject,
} from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";
import { memoryContents, sqliteContents } from "../core/store/index.ts";
import { parseActorId } from "./actor-options.ts";
import { notFound, usage } from "./command-error.ts";
import { DataDirectory } from "./data-directory.ts";

/** Callbacks of the content store's file: lost logs, and logs that grow. */
type ContentHooks = Parameters<typeof sqliteContents>[1];

/** Runs guests. Created before the data directory is locked; `attachEngine` opens the contents. */
export class GuestRuntime implements AsyncDisposable {
  readonly contents = new LazyContentStore();
  readonly guests: Guests;
  readonly #disk: ContentHooks;
  #detach: (() => void) | undefined;
  #engine: Engine | undefined;
  #tails: ChainTails | undefined;

  /** `manifests`: the folder in which manifests may be named by a path. */
  constructor(data: string, manifests?: string, disk?: ContentHooks) {
    this.#disk = disk;
    const directory = join(resolve(data), "guests");
    this.guests = createGuests({
      contents: this.contents,
      // The data directory may be inside `--manifests`, and contains the server's key and what guests write.
      manifests: new ManifestFinder({
        contents: this.contents,
        ...omitUndefined({ directory: manifests }),
        closed: [data, directory],
      }),
      variables: process.env,
      directory,
      childEvents: async (id) => {
        const snapshot = await this.#engine?.read(id);
        return (snapshot && (await this.#tails?.newest(snapshot))) ?? [];
      },
    });
  }

  /**
   * Opens the contents, in the data directory if there is one, and runs guests on this engine in place of the one before. `kinds`: the
   * other kinds that it runs. `readsOnly`: no guest runs.
   */
  attachEngine(
    engine: Engine,
    data: string | undefined,
    kinds: readonly Behaviour[] = [],
    options: { readonly readsOnly?: boolean } = {},
  ): void {
    if (!this.contents.isOpen) {
      const directory = data === undefined ? undefined : new DataDirectory(data);
      // Who only reads does not create the file.
      const inMemory = directory === undefined || (options.readsOnly === true && !directory.holdsContents());
      this.contents.open(inMemory ? memoryContents() : sqliteContents(directory.contents, this.#disk));
    }
    this.detachEngine();
    this.#detach = this.guests.attach(engine, kinds, options);
    this.#engine = engine;
    this.#tails = new ChainTails(engine, (digest) => this.contents.get(digest));
  }

  /** The engine has ended. Messages to guests wait until another is attached. */
  detachEngine(): void {
    this.#detach?.();
    this.#detach = undefined;
  }

  /** Performs the operations on guests. Undefined if the operation is about something else. */
  async operate(operation: string, args: JsonObject): Promise<Json | undefined> {
    if (operation === "collect") return { ...(await this.contents.collect(this.guests.live())) };
    if (operation !== "reexecute" && operation !== "guest-restart") return undefined;
    const id = parseActorId(typeof args["actor"] === "string" ? args["actor"] : "");
    if (operation === "guest-restart") return await this.#restart(id);
    if (!id.startsWith(`${this.guests.kind.kind}/`))
      throw usage(`${id} is no guest: "troupe replay ${id} --module <file>" runs its turns again.`);
    if ((await this.#engine?.read(id)) === undefined) throw notFound(`There is no guest ${id}; "troupe actors" lists them.`);
    const { run, mismatches, taken } = await this.guests.reexecute(id);
    return { actor: id, run, mismatches: mismatches.map((one) => ({ ...one })), taken: { ...taken } };
  }

  /** Resumes a guest from the state of its last call, also if it was paused. */
  async #restart(id: ActorId): Promise<null> {
    const engine = this.#engine;
    const found = id.startsWith(`${this.guests.kind.kind}/`) ? await engine?.read(id) : undefined;
    if (engine === undefined || found === undefined) throw notFound(`There is no guest ${id}; "troupe actors" lists them.`);
    await engine.restart(id);
    const reply = await engine.call({ to: id, action: "resume", args: {} });
    if ("refused" in reply) throw new EngineError("ACTOR_FAILED", reply.refused.message);
    return null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.detachEngine();
    await this.guests[Symbol.asyncDispose]();
    await this.contents[Symbol.asyncDispose]();
  }
}

/** A content store that can be handed out before it is opened. */
class LazyContentStore implements ContentStore {
  #store: ContentStore | undefined;

  get isOpen(): boolean {
    return this.#store !== undefined;
  }

  open(store: ContentStore): void {
    this.#store = store;
  }

  put(bytes: Uint8Array, space?: string): Promise<Digest> {
    return this.#opened().put(bytes, space);
  }

  get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#opened().get(digest);
  }

  has(digest: Digest): Promise<boolean> {
    return this.#opened().has(digest);
  }

  label(space: string, label: string, digest: Digest | undefined): Promise<void> {
    return this.#opened().label(space, label, digest);
  }

  labelled(space: string, label: string): Promise<Digest | undefined> {
    return this.#opened().labelled(space, label);
  }

  labels(space: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#opened().labels(space, limit, after);
  }

  contents(space: string, limit: number, after?: Digest): ReturnType<ContentStore["contents"]> {
    return this.#opened().contents(space, limit, after);
  }

  collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    return this.#opened().collect(live);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store?.[Symbol.asyncDispose]();
  }

  #opened(): ContentStore {
    if (this.#store === undefined) throw new Error("A guest ran before there was a place for its contents.");
    return this.#store;
  }
}
