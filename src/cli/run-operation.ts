// Owns: who performs an operation that writes: the nodes of a cluster, the running server, or this process. Does not own: the operations
// (operations.ts, cluster-operator.ts).
import type { Json, JsonObject } from "../core/contract/index.ts";
import { clusterTarget, type WriteOptions } from "./actor-options.ts";
import { usage } from "./command-error.ts";
import { requestServer } from "./control-socket.ts";
import { DataDirectory } from "./data-directory.ts";
import { reportsLostLog } from "./lost-log.ts";
import { isLocked, openWhenUnlocked } from "./open-store.ts";
import { shellWord, visible } from "./output.ts";

/**
 * Performs one operation that writes: through the nodes of a cluster, through the running server's socket, or, if none runs, in this process.
 */
export const runOperation = async (options: WriteOptions, op: string, args: JsonObject): Promise<Json> => {
  const engine = clusterTarget(options);
  if (engine !== undefined) return (await import("./cluster-operator.ts")).runOnCluster(engine, op, args);
  const directory = new DataDirectory(options.data);
  const isThere = directory.holdsActors();
  const running = await requestServer(directory.control, op, args);
  if (running !== undefined) return running.ok;
  directory.refuseMissingStore();
  // Only an operation that may start an actor may create the directory.
  if (!isThere && args["start"] === undefined) throw directory.noActors();
  try {
    return await runLocally(directory, options, op, args);
  } catch (error) {
    if (!isLocked(error)) throw error;
    // Nothing was done yet. The process that holds the store may be a server that has become ready meanwhile.
    const started = await requestServer(directory.control, op, args);
    if (started === undefined) throw error;
    return started.ok;
  }
};

/** Performs it in this process, since no server runs. */
const runLocally = async (directory: DataDirectory, options: WriteOptions, op: string, args: JsonObject): Promise<Json> => {
  if (concernsGuests(op, args)) return await (await import("./operations.ts")).runWithGuests(directory, op, args);
  if (needsNoModule(op, args) || (op === "edit" && !(await findsModules(directory, options))))
    return await (await import("./operations.ts")).runOnStore(directory, op, args);
  const served = options.module ?? (await trustedModules(directory));
  const { runWithModules } = await import("./operations.ts");
  return await runWithModules(directory, served, options, op, args);
};

/** Whether there is code to check an edit with. */
const findsModules = async (directory: DataDirectory, { module }: WriteOptions): Promise<boolean> => {
  const note = directory.readNote();
  return module !== undefined || (note !== undefined && note.modules.length > 0 && directory.trusts(note));
};

/** The modules in the directory's note, if this user's own server wrote it. Code that someone else may have named is not run. */
const trustedModules = async (directory: DataDirectory): Promise<readonly string[]> => {
  const note = directory.readNote();
  if (note !== undefined && note.modules.length > 0 && directory.trusts(note)) return note.modules;
  await refuseLocked(directory);
  if (note === undefined || note.modules.length === 0)
    throw usage(
      `No server runs on ${directory.path}, and "troupe serve" has not noted there which modules its actors are of: name them with --module, such as --module door.ts.`,
    );
  throw usage(
    `No server runs on ${directory.path}, and the modules it names were not noted there by a server of this user, or others may write there. If you trust them, name them: --module ${visible(note.modules.map(shellWord).join(" "))}`,
  );
};

/** Throws `STORE_LOCKED` if a program holds the store: programs other than the server have no socket. */
const refuseLocked = async (directory: DataDirectory): Promise<void> => {
  const { sqliteStore } = await import("../core/store/index.ts");
  await using _ = await openWhenUnlocked(() => sqliteStore({ directory: directory.path, ...reportsLostLog }), directory.control);
};

const ON_STORE = new Set(["letter", "fork", "revert", "checkpoint", "prune"]);

/** Whether an operation needs no code of its actor's kind. Replaying a dead letter runs its message. */
const needsNoModule = (op: string, { fate }: JsonObject): boolean => ON_STORE.has(op) && !(op === "letter" && fate === "replay");

/** Whether it is about guests, which no module defines. */
const concernsGuests = (op: string, { actor }: JsonObject): boolean =>
  op === "collect" || op === "reexecute" || (typeof actor === "string" && actor.startsWith("guest/"));
