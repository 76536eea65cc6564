import {
  type Bag,
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  EngineError,
  type Json,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  systemEntropy,
  type Viewer,
} from "../../core/contract/index.ts";
import { faultOf } from "./failures.ts";
import { inTime } from "./conversation.ts";
import { type Listener, ServerListeners } from "./subscriptions.ts";
import { MountedServer } from "./mounted-server.ts";
import type { McpServerOptions, SdkServer } from "./options.ts";
import { describeSource } from "../source/index.ts";

// Owns: `fromMcpServer`, and one mounted server for each principal.
// Does not own: what a single server does (mounted-server.ts).

/** The server a viewer meets. Asked once for each principal with the same scopes, and again after it was idle for long. */
export type SdkServerFor = (viewer: Viewer) => SdkServer | Promise<SdkServer>;

interface Met {
  readonly mounted: Promise<MountedServer>;
  /** Where it is there already: lists then cost nothing. */
  ready: MountedServer | undefined;
  /** Calls that run, lists that are read. */
  users: number;
  /** Nobody has asked it anything for `idleMs`. */
  idle: boolean;
  undoIdle: (() => void) | undefined;
}

const NOBODY: Viewer = { scopes: [] };

/**
 * For each viewer a server of its own; those without a principal share one. Who only listens may have gone without a word: a server
 * stays for that as long as its place is not wanted, and who listened hears the next one.
 */
class MountedServers implements Source, AsyncDisposable {
  readonly ready: Promise<void>;
  readonly #make: SdkServerFor;
  readonly #options: McpServerOptions;
  /** The idlest first. */
  readonly #met = new Map<string, Met>();
  readonly #listeners = new ServerListeners();
  readonly #closing = new Set<Promise<void>>();
  #instructions: string | undefined;
  #closed = false;

  constructor(make: SdkServerFor, options: McpServerOptions) {
    this.#make = make;
    this.#options = options;
    this.#instructions = options.instructions;
    this.ready = options.instructions === undefined ? this.#learn() : Promise.resolve();
    this.ready.catch((error: unknown) => options.onFault?.(error));
  }

  get instructions(): string | undefined {
    return this.#instructions;
  }

  surface(viewer: Viewer): Promise<Surface> {
    return this.#use(viewer, (mounted) => mounted.surface());
  }

  catalogue(viewer: Viewer): Catalogue | undefined {
    return this.#met.get(keyOf(viewer))?.ready?.catalogue();
  }

  act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.#use(viewer, (mounted) => mounted.act(viewer, ref, args, options));
  }

  complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: Bag): Promise<readonly string[]> {
    return this.#use(viewer, (mounted) => mounted.complete(viewer, ref, argument, value, others));
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const key = keyOf(viewer);
    const listener: Listener = { viewer, dirty, only, contents };
    this.#listeners.add(key, listener, this.#met.get(key)?.ready);
    // Whoever asks for the surface hears of it.
    this.#use(viewer, async () => undefined).catch(() => undefined);
    return () => {
      this.#listeners.remove(key, listener);
      if (this.#met.get(key)?.idle === true && !this.#listeners.has(key)) this.#release(key);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const key of this.#met.keys()) this.#release(key);
    await Promise.all(this.#closing);
  }

  async #learn(): Promise<void> {
    await this.#use(NOBODY, async (mounted) => {
      await mounted.ready;
      this.#instructions = mounted.instructions;
    });
  }

  async #use<T>(viewer: Viewer, run: (mounted: MountedServer) => Promise<T>): Promise<T> {
    const key = keyOf(viewer);
    const met = this.#meet(key, viewer);
    met.users += 1;
    met.undoIdle?.();
    met.undoIdle = undefined;
    met.idle = false;
    try {
      const mounted = await met.mounted.catch((error: unknown) => {
        throw faultOf(error, "Making this viewer's server");
      });
      return await run(mounted);
    } finally {
      met.users -= 1;
      if (met.users === 0) this.#leave(key, met);
    }
  }

  #meet(key: string, viewer: Viewer): Met {
    if (this.#closed) throw new EngineError("DRAINING", "The server behind this has been closed.");
    let met = this.#met.get(key);
    // One that closed of its own accord is not asked again.
    if (met?.ready?.closed === true) {
      this.#release(key);
      met = undefined;
    }
    if (met === undefined) {
      this.#makeRoom();
      met = { mounted: this.#open(viewer), ready: undefined, users: 0, idle: false, undoIdle: undefined };
      void this.#know(key, met);
    }
    this.#met.delete(key);
    this.#met.set(key, met);
    return met;
  }

  async #know(key: string, met: Met): Promise<void> {
    try {
      met.ready = await met.mounted;
      if (this.#met.get(key) === met) this.#listeners.attach(key, met.ready);
    } catch {
      // The next to ask tries again.
      if (this.#met.get(key) === met) this.#met.delete(key);
    }
  }

  #makeRoom(): void {
    const { maxServers = 1_000 } = this.#options;
    if (this.#met.size < maxServers) return;
    const unused = [...this.#met].filter(([, { users }]) => users === 0);
    const idlest = unused.find(([key]) => !this.#listeners.has(key)) ?? unused.find(([, { idle }]) => idle);
    if (idlest === undefined) throw new EngineError("MAILBOX_FULL", `All ${maxServers} servers are in use: call again later.`);
    this.#release(idlest[0]);
  }

  async #open(viewer: Viewer): Promise<MountedServer> {
    const { clock = systemClock, entropy = systemEntropy, listMs = 10_000, onFault } = this.#options;
    const made = Promise.resolve(this.#make(viewer));
    // Nobody meets one that comes later.
    const late = (): void => void made.then((server) => server.close()).catch((error: unknown) => onFault?.(error));
    const server = await inTime({ clock, ms: listMs, late }, "was not made", made);
    return new MountedServer(server, this.#options, viewer, entropy.uuid());
  }

  #leave(key: string, met: Met): void {
    if (this.#met.get(key) !== met) return;
    const { clock = systemClock, idleMs = 1_800_000 } = this.#options;
    met.undoIdle = clock.after(idleMs, () => {
      met.idle = true;
      if (!this.#listeners.has(key)) this.#release(key);
    });
  }

  #release(key: string): void {
    const met = this.#met.get(key);
    if (met === undefined) return;
    this.#met.delete(key);
    met.undoIdle?.();
    const close = async (): Promise<void> => (await met.mounted)[Symbol.asyncDispose]();
    const closing = close()
      .catch((error: unknown) => this.#options.onFault?.(error))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

const keyOf = ({ principal, scopes }: Viewer): string => (principal === undefined ? "" : JSON.stringify([principal, ...scopes.toSorted()]));

/** A source that is a client of another's server, until it is disposed of, and the server with it. It has no chain (law 1). */
export interface McpServerSource extends Source, AsyncDisposable {
  /** Settles once the server has said what it is; rejects with why it cannot be asked. Nobody has to wait for it. */
  readonly ready: Promise<void>;
}

/**
 * Serves a server of the official SDK, v1 or v2, `McpServer` or `Server`, which must not be connected yet: its tools, resources,
 * templates, prompts, completions, logs and questions. Given a server, all viewers share it and whatever it keeps; given a
 * function, each principal gets its own. Calls fail with `CRASHED` where the server closed or said what is no MCP, with
 * `WORK_TIMEOUT` where it was too slow; what it answers with an error is a refusal in its own words.
 */
export function fromMcpServer(server: SdkServer | SdkServerFor, options: McpServerOptions = {}): McpServerSource {
  const source = typeof server === "function" ? new MountedServers(server, options) : new MountedServer(server, options, { scopes: [] });
  describeSource(source, "a mounted MCP server");
  return source;
}
