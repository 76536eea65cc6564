// Owns: `fromMcpServer`, and one mounted server for each principal. Does not own: a single server (mounted-server.ts).
import {
  type CallOptions,
  type Catalogue,
  checkOptions,
  type Closable,
  type ContentOf,
  type Dirty,
  EngineError,
  FUNCTION,
  type Json,
  type JsonObject,
  type OfferRef,
  type OptionRule,
  type OptionTable,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  systemEntropy,
  type Viewer,
} from "../../core/contract/index.ts";
import { LIMIT, OBJECT, TEXT } from "../../core/contract/internal.ts";
import { faultOf } from "./failures.ts";
import { inTime, MountedServer } from "./mounted-server.ts";
import { type Listener, ServerListeners } from "./subscriptions.ts";
import type { McpServerOptions, SdkServer } from "./options.ts";
import { describeSource } from "../source/index.ts";

/** Makes the server for a viewer. Called once per principal, scopes and claims, and again after the server was idle for long. */
export type SdkServerFor = (viewer: Viewer) => SdkServer | Promise<SdkServer>;

interface ServerEntry {
  readonly mounted: Promise<MountedServer>;
  /** The server, once it is connected. */
  ready: MountedServer | undefined;
  /** Requests that are being answered: calls and lists. */
  users: number;
  /** There were no requests for `idleMs`. */
  idle: boolean;
  undoIdle: (() => void) | undefined;
}

const ANONYMOUS: Viewer = { scopes: [] };

/**
 * One server per principal; viewers without one share a server. A viewer that only listens may have disconnected silently, so a server
 * with listeners is closed only to make room; its listeners are attached to the next one.
 */
class MountedServers implements Source, Closable {
  readonly ready: Promise<void>;
  readonly #make: SdkServerFor;
  readonly #options: McpServerOptions;
  /** The idlest first. */
  readonly #servers = new Map<string, ServerEntry>();
  readonly #listeners = new ServerListeners();
  readonly #closing = new Set<Promise<void>>();
  #instructions: string | undefined;
  #closed = false;

  constructor(make: SdkServerFor, options: McpServerOptions) {
    this.#make = make;
    this.#options = options;
    this.#instructions = options.instructions;
    this.ready = options.instructions === undefined ? this.#readInstructions() : Promise.resolve();
    this.ready.catch((error: unknown) => options.onFault?.(error));
  }

  get instructions(): string | undefined {
    return this.#instructions;
  }

  surface(viewer: Viewer): Promise<Surface> {
    return this.#use(viewer, (mounted) => mounted.surface());
  }

  catalogue(viewer: Viewer): Catalogue | undefined {
    return this.#servers.get(keyOf(viewer))?.ready?.catalogue();
  }

  act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.#use(viewer, (mounted) => mounted.act(viewer, ref, args, options));
  }

  complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: JsonObject): Promise<readonly string[]> {
    return this.#use(viewer, (mounted) => mounted.complete(viewer, ref, argument, value, others));
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const key = keyOf(viewer);
    const listener: Listener = { viewer, dirty, only, contents };
    this.#listeners.add(key, listener, this.#servers.get(key)?.ready);
    // An error is reported by the next request for the surface.
    this.#use(viewer, async () => undefined).catch(() => undefined);
    return () => {
      this.#listeners.remove(key, listener);
      if (this.#servers.get(key)?.idle === true && !this.#listeners.has(key)) this.#close(key);
    };
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const key of this.#servers.keys()) this.#close(key);
    await Promise.all(this.#closing);
  }

  async #readInstructions(): Promise<void> {
    await this.#use(ANONYMOUS, async (mounted) => {
      await mounted.ready;
      this.#instructions = mounted.instructions;
    });
  }

  async #use<T>(viewer: Viewer, run: (mounted: MountedServer) => Promise<T>): Promise<T> {
    const key = keyOf(viewer);
    const entry = this.#entryFor(key, viewer);
    entry.users += 1;
    entry.undoIdle?.();
    entry.undoIdle = undefined;
    entry.idle = false;
    try {
      const mounted = await entry.mounted.catch((error: unknown) => {
        throw faultOf(error, "Making this viewer's server");
      });
      return await run(mounted);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#startIdleTimer(key, entry);
    }
  }

  #entryFor(key: string, viewer: Viewer): ServerEntry {
    if (this.#closed) throw new EngineError("DRAINING", "The server behind this has been closed.");
    let entry = this.#servers.get(key);
    // The server has closed itself: make a new one.
    if (entry?.ready?.closed === true) {
      this.#close(key);
      entry = undefined;
    }
    if (entry === undefined) {
      this.#makeRoom();
      entry = { mounted: this.#open(viewer), ready: undefined, users: 0, idle: false, undoIdle: undefined };
      void this.#attach(key, entry);
    }
    this.#servers.delete(key);
    this.#servers.set(key, entry);
    return entry;
  }

  async #attach(key: string, entry: ServerEntry): Promise<void> {
    try {
      entry.ready = await entry.mounted;
      if (this.#servers.get(key) === entry) this.#listeners.attach(key, entry.ready);
    } catch {
      // The next request tries again.
      if (this.#servers.get(key) === entry) this.#servers.delete(key);
    }
  }

  #makeRoom(): void {
    const { maxServers = 1_000 } = this.#options;
    if (this.#servers.size < maxServers) return;
    const unused = [...this.#servers].filter(([, { users, ready }]) => users === 0 && ready?.busy !== true);
    const idlest = unused.find(([key]) => !this.#listeners.has(key)) ?? unused.find(([, { idle }]) => idle);
    if (idlest === undefined)
      throw new EngineError(
        "MAILBOX_FULL",
        `${maxServers === 1 ? "The server is" : `All ${maxServers} servers are`} in use: call again later.`,
      );
    this.#close(idlest[0]);
  }

  async #open(viewer: Viewer): Promise<MountedServer> {
    const { clock = systemClock, entropy = systemEntropy, listMs = 10_000, onFault } = this.#options;
    const made = Promise.resolve(this.#make(viewer));
    // A server that is made after the timeout is closed.
    const onTimeout = (): void => void made.then((server) => server.close()).catch((error: unknown) => onFault?.(error));
    const server = await inTime({ clock, ms: listMs, onTimeout }, "was not made", made);
    return new MountedServer(server, this.#options, viewer, entropy.uuid());
  }

  #startIdleTimer(key: string, entry: ServerEntry): void {
    if (this.#servers.get(key) !== entry) return;
    const { clock = systemClock, idleMs = 1_800_000 } = this.#options;
    entry.undoIdle = clock.after(idleMs, () => {
      // A client's answer is another request, so until then its call has no user.
      if (entry.ready?.busy === true) return this.#startIdleTimer(key, entry);
      entry.idle = true;
      if (!this.#listeners.has(key)) this.#close(key);
    });
  }

  #close(key: string): void {
    const entry = this.#servers.get(key);
    if (entry === undefined) return;
    this.#servers.delete(key);
    entry.undoIdle?.();
    const close = async (): Promise<void> => (await entry.mounted)[Symbol.asyncDispose]();
    const closing = close()
      .catch((error: unknown) => this.#options.onFault?.(error))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

const keyOf = ({ principal, scopes, claims }: Viewer): string =>
  principal === undefined ? "" : JSON.stringify([principal, claims ?? null, ...scopes.toSorted()]);

/** A source that is a client of a mounted server, and closes it when disposed. It has no chain (law 1). */
export interface McpServerSource extends Source, Closable {
  /** Settles once the handshake is done; rejects with why it failed. Awaiting it is optional. */
  readonly ready: Promise<void>;
}

const TIME: OptionRule = ["a number of milliseconds, 0 or more, or Infinity", (value) => typeof value === "number" && value >= 0];

const OPTIONS: OptionTable<McpServerOptions> = {
  instructions: TEXT,
  authInfo: FUNCTION,
  clientCapabilities: OBJECT,
  callMs: TIME,
  listMs: TIME,
  askMs: TIME,
  idleMs: TIME,
  maxServers: LIMIT,
  maxAsking: true,
  maxListed: LIMIT,
  maxLength: LIMIT,
  onLog: FUNCTION,
  onFault: FUNCTION,
  clock: true,
  entropy: true,
};

/**
 * Serves a server of the official SDK, v1 or v2, `McpServer` or `Server`, which must not be connected yet: its tools, resources,
 * templates, prompts, completions, logs and requests to clients. All viewers share a given server and its state; with a function, each
 * principal gets a server of its own. Calls fail with `CRASHED` if the server closed or violated MCP, and with `WORK_TIMEOUT` if it was
 * too slow; an error response of the server is a refusal with its message.
 */
export function fromMcpServer(server: SdkServer | SdkServerFor, options: McpServerOptions = {}): McpServerSource {
  checkOptions("fromMcpServer", options, OPTIONS);
  const source = typeof server === "function" ? new MountedServers(server, options) : new MountedServer(server, options, { scopes: [] });
  describeSource(source, "a mounted MCP server");
  return source;
}
