import type { KeyObject } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { editsOff, engineOperations, type Operate, type StoreOperatingOptions, storeOperations } from "../bridges/operate/index.ts";
import { signingKey } from "../core/chain/index.ts";
import { type ActorId, type Behaviour, EngineError, type Json, type JsonObject, type Store } from "../core/contract/index.ts";
import { omitUndefined, stripBom } from "../core/contract/internal.ts";
import type { LocalEngine, Pruned, Pruning } from "../core/engine/index.ts";
import { sqliteStore } from "../core/store/sqlite.ts";
import type { Common } from "./actor-options.ts";
import { CommandError, describeFailure, EXIT, inCommandWords, noActor, usage } from "./command-error.ts";
import type { ControlHandler } from "./control-socket.ts";
import type { DataDirectory } from "./data-directory.ts";
import { whyUnreadable } from "./files.ts";
import { indexesOf, withModules } from "./load-modules.ts";
import { faultFields } from "./log.ts";
import { notesLoss, openWhenFree } from "./open-store.ts";
import { textOr } from "./output.ts";

interface Operating {
  /** The data directory, for messages. */
  readonly directory?: string;
  readonly engine: LocalEngine;
  /** Those that the engine runs. */
  readonly kinds: readonly Pick<Behaviour, "kind" | "policy" | "misfits">[];
  readonly store: Store;
  /** States may be edited. */
  readonly edit: boolean;
  /** Bodies of these actors were erased, or they were removed: what was made of their chains is to follow. */
  readonly erased: (ids: readonly ActorId[]) => void;
}

/** What commands may ask of the process that holds the directory. */
export const operate = (operating: Operating): ControlHandler => {
  const operations = engineOperations({ ...operating, signingKey: signingKeyIn });
  return spoken(operating.directory, async (operation, args) => {
    if (operation === "edit" && !operating.edit) throw editsOff();
    if (operation !== "prune") return await operations(operation, args);
    const pruned = await operating.engine.prune(pruningIn(args));
    operating.erased(pruned.ended.map(({ id }) => id));
    return prunedJson(pruned);
  });
};

interface OperatingOnStore extends Omit<StoreOperatingOptions, "signingKey"> {
  readonly directory: string;
}

/** The operations that need no module. */
const operateOnStore = (operating: OperatingOnStore): ControlHandler =>
  spoken(operating.directory, storeOperations({ ...operating, signingKey: signingKeyIn }));

/** Failures use the words of commands. */
const spoken =
  (directory: string | undefined, operations: Operate): ControlHandler =>
  async (operation: string, args: JsonObject): Promise<Json> => {
    try {
      return await operations(operation, args);
    } catch (error) {
      throw inCommandWords(error, operation, textOr(args["actor"], ""), directory);
    }
  };

const MOST_BYTES = 65_536;

/**
 * The Ed25519 private key in a PEM file. Read by the process that signs, a running server too: so no key goes over a
 * socket, whoever answers there.
 */
export const signingKeyIn = async (path: string): Promise<KeyObject> => {
  const pem = await read(path);
  try {
    return signingKey(pem);
  } catch {
    throw usage(
      `${path} holds no Ed25519 private key in PEM without a passphrase: make one with "openssl genpkey -algorithm ed25519 -out key.pem".`,
    );
  }
};

const read = async (path: string): Promise<string> => {
  try {
    // Without waiting: of a pipe the server would wait for a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (found.isFile() && found.size <= MOST_BYTES) return stripBom(await file.readFile("utf8"));
  } catch (error) {
    throw usage(`The key ${path} cannot be read: ${whyUnreadable(error)}. To make one: openssl genpkey -algorithm ed25519 -out key.pem.`);
  }
  throw usage(`The key ${path} is not a file of at most ${MOST_BYTES} bytes: name the file itself.`);
};

/** As a command asks for it on the control socket. */
const pruningIn = ({ before, kind, after }: JsonObject): Pruning => ({
  before: typeof before === "number" ? before : 0,
  ...(typeof kind === "string" ? { kind } : {}),
  ...(typeof after === "string" ? { after } : {}),
});

/** As the server answers there. */
const prunedJson = ({ ended, damaged, next }: Pruned): Json => ({
  ended: ended.map((one) => ({ ...one })),
  damaged,
  ...omitUndefined({ next }),
});

/** One operation that needs no module, by the store alone: no code of an actor is loaded, and nothing that waits is delivered. */
export const storeHere = async (directory: DataDirectory, op: string, args: JsonObject): Promise<Json> => {
  await using store = await openWhenFree(() => sqliteStore({ directory: directory.path, ...notesLoss }), directory.control);
  const perform = operateOnStore({
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
    erased: () => directory.dropSearch(),
  });
  return await perform(op, args);
};

/** Of a server its log says what a turn threw; here whoever called is the only one to be told. */
const withCause = (error: unknown, thrown: unknown): unknown => {
  const { exit, code, message } = describeFailure(error);
  if ((code !== "CRASHED" && code !== "ACTOR_FAILED") || thrown === undefined) return error;
  // A state that could not be brought on is told as what its `migrate` threw.
  const { error: name, why = "", place } = faultFields(thrown instanceof EngineError ? (thrown.cause ?? thrown) : thrown, true);
  return new CommandError(exit, code, `${message} It threw ${name}: ${why}${place === undefined ? "" : ` (${place})`}`);
};

/** Settles as `performed`, and rejects once this process has nothing left to do: then no answer can come. */
const unlessIdle = async (performed: Promise<Json>, actor: string): Promise<Json> => {
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

/** One operation that writes, by an engine opened on the directory for just this. */
export const writeHere = (
  directory: DataDirectory,
  modules: readonly string[],
  options: Common,
  op: string,
  args: JsonObject,
): Promise<Json> =>
  withModules(modules, options, async (loaded) => {
    await using store = await openWhenFree(() => sqliteStore({ directory: directory.path, ...notesLoss }), directory.control);
    const { LocalEngine } = await import("../core/engine/index.ts");
    let thrown: unknown;
    const kinds = loaded.parts.flatMap((part) => part.kinds);
    await using engine = await LocalEngine.start({
      kinds,
      indexes: indexesOf(loaded),
      store,
      onFault: (error) => {
        thrown ??= error;
      },
    });
    try {
      const performed = operate({
        directory: directory.path,
        engine,
        kinds,
        store,
        // The command refused it otherwise.
        edit: true,
        erased: () => directory.dropSearch(),
      })(op, args);
      return await unlessIdle(performed, textOr(args["actor"], "The actor"));
    } catch (error) {
      throw withCause(error, thrown);
    }
  });

/** One operation about guests, by an engine opened on the directory for just this. */
export const guestsHere = async (directory: DataDirectory, op: string, args: JsonObject): Promise<Json> => {
  const [{ LocalEngine }, { GuestHouse }] = await Promise.all([import("../core/engine/index.ts"), import("./guest-runtime.ts")]);
  await using house = new GuestHouse(directory.path, undefined, notesLoss);
  await using store = sqliteStore({ directory: directory.path, ...notesLoss });
  await using engine = await LocalEngine.start({ kinds: [house.guests.kind], store });
  house.open(engine, directory.path);
  return (
    (await house.operate(op, args)) ??
    (await operate({
      directory: directory.path,
      engine,
      kinds: [house.guests.kind],
      store,
      edit: true,
      erased: () => directory.dropSearch(),
    })(op, args))
  );
};
