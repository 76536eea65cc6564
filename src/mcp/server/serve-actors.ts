// Owns: `serveActors`: the stores, the engine, the secrets and the server of a list of kinds, and the order in which they close.
// Does not own: what each of them does.
import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type Closable,
  type ActorId,
  type Behaviour,
  checkOptions,
  FUNCTION,
  type Index,
  isJsonObject,
  type Log,
  type OptionRule,
  type OptionTable,
  type Store,
  systemClock,
  TroupeError,
} from "../../core/contract/index.ts";
import { checkNeeded, INDEXES, KINDS, nameOf, omitUndefined, TEXT } from "../../core/contract/internal.ts";
import type { FaultContext, LocalEngine } from "../../core/engine/index.ts";
import { memoryStore, mendedSessionStores, sqliteStore } from "../../core/store/index.ts";
import { sessionHooks, storeHooks } from "../../core/store/log-hooks.ts";
import { derivedKey, secretKeyIn } from "../../core/store/secret-file.ts";
import { cast } from "../source/index.ts";
import { authenticator, type AuthOptions, type Authenticator } from "../transport/index.ts";
import { type ListenOptions, createServer, type Server } from "./server.ts";
import { errorsToStandardError, OPTIONS as SERVER_OPTIONS, type ServerOptions } from "./options.ts";

/** Where an error of an author's code was thrown: by the engine (`where` and its actor), or by a surface (its actor). */
export type ActorFault = FaultContext | { readonly where: "surface"; readonly actor: ActorId };

type FromDirectory = "sessions" | "streams" | "taskStore" | "sharedSessions" | "requestStateKey";

/** Options of `createServer`, without those that `directory` decides, and: */
export interface ServeActorsOptions extends Omit<ServerOptions, FromDirectory | "auth"> {
  /** Everything that clients may reach, as `actor()` makes it. */
  readonly kinds: readonly Behaviour[];
  /** Indexes over their contents, as `index()` makes them. */
  readonly indexes?: readonly Index[];
  /** Where actors, sessions and keys are stored, with the same files as `troupe serve --data`. Created where absent. Default: in memory. */
  readonly directory?: string;
  /** API keys and issuers, or the result of `authenticator`. */
  readonly auth?: Authenticator | AuthOptions;
  /** Listens there at once; `true`: 127.0.0.1 and a free port. */
  readonly http?: NonNullable<ListenOptions["http"]>;
  /** The server's name for clients. Default `actors`. */
  readonly name?: string;
  /** The server's version for clients. Default `1.0.0`. */
  readonly version?: string;
  /** Called with what author code threw, in full. Default: its name, code and place in `log`; without `log`, in full on standard error. */
  readonly onFault?: (error: unknown, fault: ActorFault) => void;
}

/** Actors that are served, and everything that was opened for them. */
export interface ServedActors extends Closable {
  readonly server: Server;
  readonly engine: LocalEngine;
  /** The one that the engine writes to. */
  readonly store: Store;
  /** Where that store is. Absent: in memory. */
  readonly directory?: string;
  /** The address of `http`: `http://127.0.0.1:3000/mcp`. */
  readonly url?: string;
  /** Accepts no more requests; running ones get `graceMs` (default 5 s); then the server, the engine and the stores close, in this order. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const AUTH: OptionRule = ["{ keys } or { issuers }, or what `await authenticator(…)` returns", isJsonObject];

const { sessions: _1, streams: _2, taskStore: _3, sharedSessions: _4, requestStateKey: _5, ...OF_SERVER } = SERVER_OPTIONS;

const OPTIONS: OptionTable<ServeActorsOptions> = {
  ...OF_SERVER,
  kinds: KINDS,
  indexes: INDEXES,
  directory: TEXT,
  auth: AUTH,
  http: true,
  name: TEXT,
  version: TEXT,
  onFault: FUNCTION,
};

/**
 * Serves actors: opens the store, starts the engine, and creates a server of them, which listens if `http` is given. Throws `BAD_OPTION`
 * for an option that cannot work, `StoreError` for a directory that cannot be used; then nothing stays open.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { serveActors } from "troupe/server";
 * import * as z from "zod";
 *
 * const counter = actor("counter", {
 *   description: "A counter.",
 *   state: z.object({ n: z.number().default(0) }),
 *   tools: { add: { description: "Add one.", run: ({ state }) => (state.n += 1) } },
 * });
 * await using served = await serveActors({ kinds: [counter], directory: "data", http: { port: 3000 } });
 * console.log(served.url);
 * ```
 */
export function serveActors(
  options: ServeActorsOptions & { readonly http: NonNullable<ListenOptions["http"]> },
): Promise<ServedActors & { readonly url: string }>;
export function serveActors(options: ServeActorsOptions): Promise<ServedActors>;
export async function serveActors(options: ServeActorsOptions): Promise<ServedActors> {
  checkOptions("serveActors", options, OPTIONS);
  const { kinds, indexes = [], directory, auth, http, name = "actors", version = "1.0.0", onFault, sources = [], ...ofServer } = options;
  checkNeeded("kinds", kinds, KINDS);
  const { clock, entropy, names, observer } = ofServer;
  const timed = omitUndefined({ clock, entropy });
  const known = auth === undefined || "check" in auth ? auth : await authenticator({ ...omitUndefined({ clock }), ...auth });
  const report = onFault ?? reportTo(options.log);

  // Servers without actors load no engine.
  const { LocalEngine } = await import("../../core/engine/index.ts");
  await using opened = new AsyncDisposableStack();
  const isKnown = directory !== undefined && existsSync(join(directory, "troupe.db"));
  const log = options.log ?? errorsToStandardError;
  const store = opened.use(
    directory === undefined
      ? memoryStore(omitUndefined({ clock }))
      : sqliteStore({ directory, ...omitUndefined({ clock }), ...storeHooks(log) }),
  );
  // After the store, whose lock refuses a second server.
  const key = directory === undefined ? undefined : keyIn(directory, isKnown, log);
  const stores =
    directory === undefined ? undefined : opened.use(mendedSessionStores({ path: join(directory, "sessions.db"), ...sessionHooks(log) }));
  const engine = opened.use(await LocalEngine.start({ kinds, indexes, store, ...timed, ...omitUndefined({ observer }), onFault: report }));
  const actors = cast({
    engine,
    kinds,
    indexes,
    ...timed,
    ...omitUndefined({ names, handles: key && { secret: derivedKey(key, "handles") } }),
    onFault: (error, actor) => report(error, { where: "surface", actor }),
  });
  const server = opened.use(
    createServer(name, version, {
      ...ofServer,
      ...stores,
      sharedSessions: false,
      ...omitUndefined({ auth: known, requestStateKey: key }),
      sources: [actors, ...sources],
    }),
  );
  const listening = http === undefined ? undefined : await server.listen({ http });

  const all = opened.move();
  let closed: Promise<void> | undefined;
  const close = async (graceMs: number): Promise<void> => {
    const now = clock ?? systemClock;
    const from = now.now();
    await server.close({ graceMs });
    // Messages without a caller here, such as timers and sends, get what is left of the time.
    await engine.drain(Math.max(0, graceMs - (now.now() - from)));
    await all.disposeAsync();
  };
  const served = {
    server,
    engine,
    store,
    close: ({ graceMs = 5_000 }: { readonly graceMs?: number } = {}) => (closed ??= close(graceMs)),
    [Symbol.asyncDispose]: () => served.close(),
    ...omitUndefined({ directory, url: listening?.http.url }),
  };
  return served;
}

function keyIn(directory: string, expected: boolean, log: Log): Uint8Array {
  return secretKeyIn(join(directory, "key"), expected, (bytes) =>
    log("warning", {
      event: "key-replaced",
      bytes,
      what: "The key was damaged or is missing: what clients were handed before, such as handles, may be refused.",
    }),
  );
}

/** Without a log, standard error gets the whole error: an author who has set up nothing must still see why a call failed. */
function reportTo(log: Log | undefined): (error: unknown, fault: ActorFault) => void {
  if (log === undefined)
    return (error, fault) => console.error(fault, "hasSecrets" in fault && !(error instanceof TroupeError) ? nameOf(error) : error);
  return (error, fault) => {
    const code = error instanceof TroupeError ? { code: error.code, why: error.message } : {};
    // Only the name of a foreign error, since its message may quote state.
    log("error", { event: "fault", ...fault, error: nameOf(error), ...code });
  };
}
