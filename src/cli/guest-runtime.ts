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
import { actorId } from "./actor-options.ts";
import { notFound, usage } from "./command-error.ts";
import { DataDirectory } from "./data-directory.ts";

/** Told what the file of contents lost, and that its log grows. */
type ContentHooks = Parameters<typeof sqliteContents>[1];

/** What guests run in, beside a data directory that may not be this process's yet. */
export class GuestHouse implements AsyncDisposable {
  readonly contents = new LateContents();
  readonly guests: Guests;
  readonly #disk: ContentHooks;
  #detach: (() => void) | undefined;
  #engine: Engine | undefined;
  #tails: ChainTails | undefined;

  /** `manifests`: below which manifests may be named by a path. */
  constructor(data: string, manifests?: string, disk?: ContentHooks) {
    this.#disk = disk;
    const directory = join(resolve(data), "guests");
    this.guests = createGuests({
      contents: this.contents,
      // `--manifests .` holds the data directory, too: in it lie the server's key, and what guests write.
      manifests: new ManifestFinder({
        contents: this.contents,
        ...omitUndefined({ directory: manifests }),
        closed: [data, directory],
      }),
      variables: process.env,
      directory,
      childEvents: async (id) => (await this.#tails?.newest(id)) ?? [],
    });
  }

  /**
   * The directory is this process's now; absent: nothing is kept. Another engine may come in the place of the one before. `kinds`: what
   * it runs as well.
   */
  open(engine: Engine, data: string | undefined, kinds: readonly Behaviour[] = []): void {
    if (!this.contents.isOpen)
      this.contents.open(data === undefined ? memoryContents() : sqliteContents(new DataDirectory(data).contents, this.#disk));
    this.leave();
    this.#detach = this.guests.attach(engine, kinds);
    this.#engine = engine;
    this.#tails = new ChainTails(engine, (digest) => this.contents.get(digest));
  }

  /** The engine has ended; what another delivers to guests waits until it is given to `open`. */
  leave(): void {
    this.#detach?.();
    this.#detach = undefined;
  }

  /** What commands may ask about guests. Undefined: it is about something else. */
  async operate(operation: string, args: JsonObject): Promise<Json | undefined> {
    if (operation === "collect") return { ...(await this.contents.collect(this.guests.live())) };
    if (operation !== "reexecute" && operation !== "guest-restart") return undefined;
    const id = actorId(typeof args["actor"] === "string" ? args["actor"] : "");
    if (operation === "guest-restart") return await this.#restart(id);
    if (!id.startsWith(`${this.guests.kind.kind}/`))
      throw usage(`${id} is no guest: "troupe replay ${id} --module <file>" runs its turns again.`);
    if ((await this.#engine?.read(id)) === undefined) throw notFound(`There is no guest ${id}; "troupe actors" lists them.`);
    const { run, mismatches, taken } = await this.guests.reexecute(id);
    return { actor: id, run, mismatches: mismatches.map((one) => ({ ...one })), taken: { ...taken } };
  }

  /** It goes on from the state of its last call, also where it was paused. */
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
    this.leave();
    await this.guests[Symbol.asyncDispose]();
    await this.contents[Symbol.asyncDispose]();
  }
}

/** A content store that guests know before its directory is taken. */
class LateContents implements ContentStore {
  #store: ContentStore | undefined;

  get isOpen(): boolean {
    return this.#store !== undefined;
  }

  open(store: ContentStore): void {
    this.#store = store;
  }

  put(bytes: Uint8Array, space?: string): Promise<Digest> {
    return this.#there().put(bytes, space);
  }

  get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#there().get(digest);
  }

  has(digest: Digest): Promise<boolean> {
    return this.#there().has(digest);
  }

  label(space: string, label: string, digest: Digest | undefined): Promise<void> {
    return this.#there().label(space, label, digest);
  }

  labelled(space: string, label: string): Promise<Digest | undefined> {
    return this.#there().labelled(space, label);
  }

  labels(space: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#there().labels(space, limit, after);
  }

  contents(space: string, limit: number, after?: Digest): ReturnType<ContentStore["contents"]> {
    return this.#there().contents(space, limit, after);
  }

  collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    return this.#there().collect(live);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store?.[Symbol.asyncDispose]();
  }

  #there(): ContentStore {
    if (this.#store === undefined) throw new Error("A guest ran before there was a place for its contents.");
    return this.#store;
  }
}
