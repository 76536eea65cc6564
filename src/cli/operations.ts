// Owns: operations on a data directory by the process that holds it: the server, or a command while no server runs. Does not own: who
// performs one (run-operation.ts), the socket (control-socket.ts).
import type { KeyObject } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { editsOff, engineOperations, type Operate, type StoreOperatingOptions, storeOperations } from "../bridges/operate/index.ts";
import { signingKey } from "../core/chain/index.ts";
import {
  type ActorId,
  type Behaviour,
  type Ended,
  EngineError,
  type Json,
  type JsonObject,
  type Store,
  systemClock,
} from "../core/contract/index.ts";
import { omitUndefined, stripBom } from "../core/contract/internal.ts";
import type { LocalEngine, Pruned, Pruning } from "../core/engine/index.ts";
import { sqliteStore } from "../core/store/sqlite.ts";
import type { CommonOptions } from "./actor-options.ts";
import { CommandError, describeFailure, EXIT, rewordForCommands, noActor, usage } from "./command-error.ts";
import type { ControlHandler } from "./control-socket.ts";
import type { DataDirectory } from "./data-directory.ts";
import { whyUnreadable } from "./files.ts";
import { indexesOf, withModules } from "./load-modules.ts";
import { faultFields } from "./log.ts";
import { reportsLostLog } from "./lost-log.ts";
import { openWhenUnlocked } from "./open-store.ts";
import { textOrElse } from "./output.ts";

interface EngineHandlerOptions {
  /** The data directory, for messages. */
  readonly directory?: string;
  readonly engine: LocalEngine;
  /** The kinds that the engine runs. */
  readonly kinds: readonly Pick<Behaviour, "kind" | "policy" | "misfits">[];
  readonly store: Store;
  /** Whether states may be edited. */
  readonly edit: boolean;
  /** Called when bodies of these actors were erased or the actors removed, so that search indexes can follow. */
  readonly erased: (ids: readonly ActorId[]) => void;
}

/** The operations of a process that holds the directory and runs an engine on it. */
export const engineHandler = (operating: EngineHandlerOptions): ControlHandler => {
  const operations = engineOperations({ ...operating, signingKey: readSigningKey });
  return withCommandWording(operating.directory, async (operation, args) => {
    if (operation === "edit" && !operating.edit) throw editsOff();
    if (operation !== "prune") return await operations(operation, args);
    return prunedJson(await operating.engine.prune(parsePruning(args)), operating.erased);
  });
};

interface StoreHandlerOptions extends Omit<StoreOperatingOptions, "signingKey"> {
  readonly directory: string;
}

/** The operations that need no module, and no engine. */
const storeHandler = (operating: StoreHandlerOptions): ControlHandler =>
  withCommandWording(operating.directory, storeOperations({ ...operating, signingKey: readSigningKey }));

/** Rewords failures for users of commands. */
const withCommandWording =
  (directory: string | undefined, operations: Operate): ControlHandler =>
  async (operation: string, args: JsonObject): Promise<Json> => {
    try {
      return await operations(operation, args);
    } catch (error) {
      throw rewordForCommands(error, operation, textOrElse(args["actor"], ""), directory);
    }
  };

const MOST_BYTES = 65_536;

/**
 * The Ed25519 private key in a PEM file. The process that signs reads it, also a running server, so that no key is sent over a socket.
 */
export const readSigningKey = async (path: string): Promise<KeyObject> => {
  const pem = await readKeyFile(path);
  try {
    return signingKey(pem);
  } catch {
    throw usage(
      `${path} holds no Ed25519 private key in PEM without a passphrase: make one with "openssl genpkey -algorithm ed25519 -out key.pem".`,
    );
  }
};

const readKeyFile = async (path: string): Promise<string> => {
  try {
    // Non-blocking: a server must not wait for the writer of a pipe.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (found.isFile() && found.size <= MOST_BYTES) return stripBom(await file.readFile("utf8"));
  } catch (error) {
    throw usage(`The key ${path} cannot be read: ${whyUnreadable(error)}. To make one: openssl genpkey -algorithm ed25519 -out key.pem.`);
  }
  throw usage(`The key ${path} is not a file of at most ${MOST_BYTES} bytes: name the file itself.`);
};

/** Reads the request of `troupe prune`. */
const parsePruning = ({ before, kind, after }: JsonObject): Pruning => ({
  before: typeof before === "number" ? before : 0,
  ...(typeof kind === "string" ? { kind } : {}),
  ...(typeof after === "string" ? { after } : {}),
});

/** The reply to it. */
const prunedJson = ({ ended, damaged, next }: Pruned, erased: (ids: readonly ActorId[]) => void): Json => {
  if (ended.length > 0) erased(ended.map(({ id }) => id));
  return { ended: ended.map((one) => ({ ...one })), damaged, ...omitUndefined({ next }) };
};

/** Performs one operation on the store alone: loads no actor code, and delivers no pending messages. */
export const runOnStore = async (directory: DataDirectory, op: string, args: JsonObject): Promise<Json> => {
  await using store = await openWhenUnlocked(() => sqliteStore({ directory: directory.path, ...reportsLostLog }), directory.control);
  const erased = (): void => directory.deleteSearchIndex();
  if (op === "prune") {
    const host = { store, now: systemClock.now(), remove: (one: Ended) => store.remove(one) };
    return prunedJson(await (await import("../core/engine/index.ts")).prune(host, parsePruning(args)), erased);
  }
  const perform = storeHandler({
    directory: directory.path,
    engine: {
      async append(id, make) {
        const stored = await store.load(id);
        if (stored === undefined) throw noActor(id, directory.path);
        const entry = make(stored);
        await store.commit(id, entry);
        return entry;
      },
      letter: (id, fate) => store.letter(id, fate),
    },
    store,
    erased,
  });
  return await perform(op, args);
};

/** Adds what a turn threw to its error. A server would log it; here only the caller can report it. */
const withThrownError = (error: unknown, thrown: unknown): unknown => {
  const { exit, code, message } = describeFailure(error);
  if ((code !== "CRASHED" && code !== "ACTOR_FAILED") || thrown === undefined) return error;
  // For a state that could not be migrated, that is what `migrate` threw.
  const { error: name, why = "", place } = faultFields(thrown instanceof EngineError ? (thrown.cause ?? thrown) : thrown, true);
  return new CommandError(exit, code, `${message} It threw ${name}: ${why}${place === undefined ? "" : ` (${place})`}`);
};

/** Settles as `performed`, and rejects once this process is idle: then no reply can come. */
const failWhenIdle = async (performed: Promise<Json>, actor: string): Promise<Json> => {
  const idle = Promise.withResolvers<never>();
  const onIdle = (): void =>
    idle.reject(
      new CommandError(
        EXIT.failed,
        "NO_REPLY",
        `${actor} answers this later or never, and no server runs that could wait for it. What its turns stored stays: look at its state before you repeat this, and serve it to get answers.`,
      ),
    );
  process.once("beforeExit", onIdle);
  try {
    return await Promise.race([performed, idle.promise]);
  } finally {
    process.off("beforeExit", onIdle);
  }
};

/** Performs one operation with an engine that is opened on the directory for it. */
export const runWithModules = (
  directory: DataDirectory,
  modules: readonly string[],
  options: CommonOptions,
  op: string,
  args: JsonObject,
): Promise<Json> =>
  withModules(modules, options, async (loaded) => {
    await using store = await openWhenUnlocked(() => sqliteStore({ directory: directory.path, ...reportsLostLog }), directory.control);
    const { LocalEngine } = await import("../core/engine/index.ts");
    let thrown: unknown;
    const kinds = loaded.parts.flatMap((part) => part.kinds);
    await using engine = await LocalEngine.start({
      kinds,
      indexes: indexesOf(loaded),
      store,
      // Messages to kinds of other modules are for the next server.
      partial: true,
      onFault: (error, { actor }) => {
        // What other actors do meanwhile, with messages that waited, is not about this operation.
        if (actor === args["actor"]) thrown ??= error;
      },
    });
    try {
      const performed = engineHandler({
        directory: directory.path,
        engine,
        kinds,
        store,
        // The command has checked --allow-edit.
        edit: true,
        erased: () => directory.deleteSearchIndex(),
      })(op, args);
      return await failWhenIdle(performed, textOrElse(args["actor"], "The actor"));
    } catch (error) {
      throw withThrownError(error, thrown);
    }
  });

/** Operations that only read chains and contents. */
const READS_GUESTS = new Set(["collect", "reexecute"]);

/** Performs one operation on guests with an engine that is opened on the directory for it. */
export const runWithGuests = async (directory: DataDirectory, op: string, args: JsonObject): Promise<Json> => {
  const [{ LocalEngine }, { GuestRuntime }] = await Promise.all([import("../core/engine/index.ts"), import("./guest-runtime.ts")]);
  await using runtime = new GuestRuntime(directory.path, undefined, reportsLostLog);
  await using store = await openWhenUnlocked(() => sqliteStore({ directory: directory.path, ...reportsLostLog }), directory.control);
  await using engine = await LocalEngine.start({ kinds: [runtime.guests.kind], store, partial: true });
  // Messages that a killed server left are for the next one: this process does not know its manifests, variables and modules.
  runtime.attachEngine(engine, directory.path, [], { readsOnly: READS_GUESTS.has(op) });
  return (
    (await runtime.operate(op, args)) ??
    (await engineHandler({
      directory: directory.path,
      engine,
      kinds: [runtime.guests.kind],
      store,
      edit: true,
      erased: () => directory.deleteSearchIndex(),
    })(op, args))
  );
};
