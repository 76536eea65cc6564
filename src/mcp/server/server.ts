// Owns: `createServer`: the parts of a server, opening and closing its transports, and its lifetime.
// Does not own: registries (registries.ts), handlers (handler.ts), the transports (mcp/transport).
import {
  checkOptions,
  type Gateway,
  type Log,
  type OptionTable,
  sessionTtlIn,
  type Source,
  systemClock,
  systemEntropy,
  TroupeError,
} from "../../core/contract/index.ts";
import { omitUndefined, rateLimitedLog } from "../../core/contract/internal.ts";
import { memorySessionStore, memoryStreamStore } from "../../core/store/index.ts";
import { createGateway } from "../gateway/index.ts";
import { merge, registry } from "../source/index.ts";
import {
  type HttpListener,
  type HttpOptions,
  serveHttp,
  serveStdio,
  serveTcp,
  type StdioListener,
  type StdioOptions,
  type TcpListener,
  type TcpOptions,
  type WebHandler,
  webHandler,
} from "../transport/index.ts";
import { checkServer, errorsToStandardError, type ServerOptions } from "./options.ts";
import { promptRegistry, type Prompts, resourceRegistry, type Resources, toolRegistry, type Tools } from "./registries.ts";

const errorToStandardError = (error: unknown): void => console.error(error);

/** Logs faults of a registry itself: an `enabled` that threw, a watcher that threw. */
function faultsTo(log: Log): (error: unknown) => void {
  return (error) => {
    // Only the name of a foreign error, since its message may quote data.
    const name = error instanceof Error ? error.name : typeof error;
    const details = error instanceof TroupeError ? { code: error.code, text: error.message } : { name };
    log("error", { event: "registry-fault", ...details });
  };
}

/** In milliseconds: `sessionTtlMs`, else `MCP_SESSION_TTL_MINUTES`, else 60 minutes. */
export function sessionTtl({ sessionTtlMs, env, log }: Pick<ServerOptions, "sessionTtlMs" | "env" | "log">): number {
  return (
    sessionTtlMs ??
    sessionTtlIn(env ?? (typeof process === "undefined" ? {} : process.env), (given) =>
      log?.("warning", {
        event: "session-ttl-refused",
        given: given.slice(0, 32),
        minutes: 60,
        text: "MCP_SESSION_TTL_MINUTES is no positive whole number of minutes: sessions end after 60 minutes without a request.",
      }),
    )
  );
}

const LAST_REPLIES_MS = 1_000;

/**
 * An MCP server of tools, resources and prompts, for every revision of the protocol, to be mounted in an application or to listen by
 * itself. Without `sessions` and `streams`, those of the legacy revisions are in memory. Throws `BAD_OPTION`.
 *
 * @example
 * ```ts
 * import { createServer } from "troupe/server";
 * import * as z from "zod";
 *
 * const server = createServer("hello", "1.0.0");
 * const input = z.object({ name: z.string() });
 * server.tools.register({ name: "greet", description: "Greets a person.", input }, ({ args }) => `Hello, ${args.name}!`);
 * const { http } = await server.listen({ http: { port: 3000 } });
 * console.log(http?.url);
 * ```
 */
export function createServer(name: string, version: string, options: ServerOptions = {}): Server {
  return new Server(name, version, options);
}

/** The server that `createServer` makes: its tools, resources and prompts, and the ways to serve it. */
class Server implements AsyncDisposable {
  readonly tools: Tools;
  readonly resources: Resources;
  readonly prompts: Prompts;
  /** Everything that is served, to mount in another server, or under a prefix. */
  readonly source: Source;
  /** The protocol engine, for a transport of your own. */
  readonly gateway: Gateway;
  readonly #options: ServerOptions;
  readonly #mount: () => WebHandler;
  #mounted: WebHandler | undefined;
  readonly #relist: () => void;
  readonly #abandon: () => void;
  readonly #own: AsyncDisposableStack;
  readonly #listeners: Partial<ServerListeners>[] = [];
  #closed: Promise<void> | undefined;

  constructor(name: string, version: string, given: ServerOptions) {
    checkServer(name, version, given);
    const options = { ...given, log: given.log ?? errorsToStandardError };
    const {
      title,
      description,
      websiteUrl,
      icons,
      instructions,
      sources = [],
      handlerMs,
      names,
      onError = given.log === undefined ? errorToStandardError : undefined,
      middleware = [],
      webLimits,
      env: _env,
      ...rest
    } = options;
    const { clock, entropy = systemEntropy } = options;
    const log = rateLimitedLog(options.log, clock ?? systemClock);
    const { path, auth, allowedHosts, allowedOrigins, sse, ready, ...engine } = rest;
    const timed = clock === undefined ? {} : { clock };
    const own = registry({
      name,
      ...timed,
      ...omitUndefined({ instructions, names, timeoutMs: handlerMs }),
      onFault: faultsTo(log),
    });
    const env = { entropy, log, onError, middleware };
    this.#options = options;
    this.#relist = () => own.relist();
    this.#abandon = () => own.abandon();
    this.tools = toolRegistry(own, env);
    this.resources = resourceRegistry(own, env);
    this.prompts = promptRegistry(own, env);
    this.source = merge(own, ...sources);
    this.#own = new AsyncDisposableStack();
    const sessions = options.sessions ?? this.#own.use(memorySessionStore());
    const streams = options.streams ?? this.#own.use(memoryStreamStore());
    this.gateway = createGateway({
      ...engine,
      sessions,
      streams,
      sessionTtlMs: sessionTtl(options),
      // A given store may be shared with other processes. A check costs little, a wrong assumption much.
      sharedSessions: options.sharedSessions ?? options.sessions !== undefined,
      source: this.source,
      info: {
        name,
        version,
        ...omitUndefined({ title, description, websiteUrl, icons }),
      },
    });
    this.#mount = () =>
      webHandler({
        gateway: this.gateway,
        ...timed,
        ...omitUndefined({ log, path, auth, allowedHosts, allowedOrigins, sse }),
        entropy,
        ...omitUndefined({ ready, limits: webLimits }),
      });
    // Without a `resource` the server can only listen: the audience of its tokens is then the listening address.
    if (auth?.needsResource !== true) this.#mounted = this.#mount();
  }

  /** For Hono, Next, Bun, Deno, workers. Needs no `this`; further arguments are ignored. Reading it throws `BAD_OPTION` if `auth` has an issuer without a `resource` or `audience`. */
  get fetch(): (request: Request) => Promise<Response> {
    const { fetch } = this.#web;
    return (request) => fetch(request);
  }

  /** Like `fetch`. */
  get fetchAs(): WebHandler["fetchAs"] {
    return this.#web.fetchAs;
  }

  /** For node:http, Express (after `express.json()` too), Fastify's `raw`. Needs no `this`. Throws as `fetch` does. */
  get node(): WebHandler["node"] {
    return this.#web.node;
  }

  /** Like `node`. */
  get nodeAs(): WebHandler["nodeAs"] {
    return this.#web.nodeAs;
  }

  get #web(): WebHandler {
    return (this.#mounted ??= this.#mount());
  }

  /** Something that an `enabled` function reads has changed: clients are notified of lists that differ now. */
  relist(): void {
    this.#relist();
  }

  /**
   * Opens transports of its own, all or none. `path`, `auth`, hosts and origins default to the server's options. Throws `BAD_ADDRESS`, `UNSAFE_LISTENER`, and
   * `DRAINING` if the server was closed.
   */
  listen<const L extends ListenOptions>(options: L): Promise<Listening<L>>;
  async listen(options: ListenOptions): Promise<Partial<ServerListeners>> {
    const open = (): boolean => this.#closed === undefined;
    if (!open()) throw hasClosed();
    const listeners = await openListeners(options, this.gateway, this.#options, () => open() && (this.#options.ready?.() ?? true));
    if (open()) {
      this.#listeners.push(listeners);
      return listeners;
    }
    await Promise.all(closeAll(listeners, { graceMs: 0 }));
    throw hasClosed();
  }

  /** Accepts no more requests; running ones get `graceMs` (default 5 s), then they are aborted and connections end. Does not close sources. */
  close({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    return (this.#closed ??= this.#close(graceMs));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(graceMs: number): Promise<void> {
    const drained = this.gateway.drain(graceMs).then(() => this.#abandon());
    // The gateway answers unfinished requests, so transports are closed a little later.
    const left = { graceMs: graceMs + LAST_REPLIES_MS };
    await Promise.all([drained, this.#mounted?.close(left), ...this.#listeners.flatMap((listeners) => closeAll(listeners, left))]);
    await this.gateway[Symbol.asyncDispose]();
    await this.#own.disposeAsync();
  }
}

const hasClosed = (): TroupeError => new TroupeError("DRAINING", "The server was closed: create another one, which can listen.");

export type { Server };

/** Where to listen; `true`: the defaults (127.0.0.1, a free port, the standard streams of this process). */
export interface ListenOptions {
  readonly http?: true | Omit<HttpOptions, "gateway">;
  readonly tcp?: true | Omit<TcpOptions, "gateway" | "refusal" | "tokenPlace">;
  readonly stdio?: true | Omit<StdioOptions, "gateway">;
}

const LISTEN: OptionTable<ListenOptions> = { http: true, tcp: true, stdio: true };

/** What listens: the addresses of each transport, and how to close them. */
export interface ServerListeners {
  readonly http: HttpListener;
  readonly tcp: TcpListener;
  readonly stdio: StdioListener;
}

/** The transports that were requested. */
export type Listening<L extends ListenOptions> = { readonly [K in keyof L & keyof ServerListeners]: ServerListeners[K] };

type Common = Pick<ServerOptions, "path" | "auth" | "allowedHosts" | "allowedOrigins" | "sse" | "clock" | "entropy" | "log">;

/** Opens all of them, or none: if one cannot be opened, the others are closed. */
async function openListeners(
  wanted: ListenOptions,
  gateway: Gateway,
  server: Common,
  ready: () => boolean | string,
): Promise<Partial<ServerListeners>> {
  checkOptions("listen", wanted, LISTEN);
  const { path, auth, allowedHosts, allowedOrigins, sse, clock, entropy, log } = server;
  const every = { gateway, ...omitUndefined({ clock, log }) };
  const guarded = { ...every, ...omitUndefined({ auth }) };
  const opened: { -readonly [K in keyof ServerListeners]?: ServerListeners[K] } = {};
  try {
    if (wanted.http !== undefined) {
      const given = wanted.http === true ? {} : wanted.http;
      opened.http = await serveHttp({
        ...guarded,
        ...omitUndefined({ path, allowedHosts, allowedOrigins, sse, entropy }),
        ready,
        ...given,
      });
    }
    if (wanted.tcp !== undefined) opened.tcp = await serveTcp({ ...guarded, ...(wanted.tcp === true ? {} : wanted.tcp) });
    if (wanted.stdio !== undefined) opened.stdio = serveStdio({ ...every, ...(wanted.stdio === true ? {} : wanted.stdio) });
    return opened;
  } catch (error) {
    await Promise.all(closeAll(opened, { graceMs: 0 }));
    throw error;
  }
}

const closeAll = (listeners: Partial<ServerListeners>, within: { readonly graceMs: number }): readonly Promise<void>[] =>
  [listeners.http, listeners.tcp, listeners.stdio].flatMap((listener) => listener?.close(within) ?? []);
