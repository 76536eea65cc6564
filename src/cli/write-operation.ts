import type { Json, JsonObject } from "../core/contract/index.ts";
import { transferOf, type Writing } from "./actor-options.ts";
import { usage } from "./command-error.ts";
import { askControl } from "./control-socket.ts";
import { DataDirectory } from "./data-directory.ts";
import { isHeld, notesLoss, openWhenFree } from "./open-store.ts";
import { visible } from "./output.ts";

/**
 * One operation that writes: by the nodes of a cluster; by the running server through its socket, or, where
 * none runs, by an engine opened on the directory for just this.
 */
export const write = async (options: Writing, op: string, args: JsonObject): Promise<Json> => {
  const engine = transferOf(options);
  if (engine !== undefined) return (await import("./cluster-operator.ts")).operateCluster(engine, op, args);
  const directory = new DataDirectory(options.data);
  const isThere = directory.holdsActors();
  const running = await askControl(directory.control, op, args);
  if (running !== undefined) return running.ok;
  directory.refuseLoss();
  // Only what may begin an actor may make the directory.
  if (!isThere && args["start"] === undefined) throw directory.noActors();
  try {
    return await perform(directory, options, op, args);
  } catch (error) {
    if (!isHeld(error)) throw error;
    // Nothing was done. A server that was starting takes commands now.
    const started = await askControl(directory.control, op, args);
    if (started === undefined) throw error;
    return started.ok;
  }
};

/** By this process, since no server runs. */
const perform = async (directory: DataDirectory, options: Writing, op: string, args: JsonObject): Promise<Json> => {
  if (isOfGuests(op, args)) return await (await import("./operations.ts")).guestsHere(directory, op, args);
  if (needsNoModule(op, args) || (op === "edit" && !(await findsModules(directory, options))))
    return await (await import("./operations.ts")).storeHere(directory, op, args);
  const served = options.module ?? (await trustedModules(directory));
  const { writeHere } = await import("./operations.ts");
  return await writeHere(directory, served, options, op, args);
};

/** Whether there is code to check an edit with. */
const findsModules = async (directory: DataDirectory, { module }: Writing): Promise<boolean> => {
  const note = directory.readNote();
  return module !== undefined || (note !== undefined && note.modules.length > 0 && directory.trusts(note));
};

/** Those that the directory names, if this user's own server wrote that. Code that anybody else may have named is not run. */
const trustedModules = async (directory: DataDirectory): Promise<readonly string[]> => {
  const note = directory.readNote();
  if (note !== undefined && note.modules.length > 0 && directory.trusts(note)) return note.modules;
  await refuseHeld(directory);
  if (note === undefined || note.modules.length === 0)
    throw usage(`No server runs on ${directory.path}, and it does not say which modules its actors are of: name them with --module.`);
  throw usage(
    `No server runs on ${directory.path}, and the modules it names were not noted there by a server of this user, or others may write there. If you trust them, name them: --module ${visible(note.modules.map(shellWord).join(" "))}`,
  );
};

const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

/** A program of one's own has no socket: that it runs is known by its lock alone. Throws `STORE_LOCKED`. */
const refuseHeld = async (directory: DataDirectory): Promise<void> => {
  const { sqliteStore } = await import("../core/store/index.ts");
  await using _ = await openWhenFree(() => sqliteStore({ directory: directory.path, ...notesLoss }), directory.control);
};

const ON_STORE = new Set(["letter", "fork", "revert", "checkpoint"]);

/** Whether an operation needs no code of its actor's kind. To replay a letter is to run what it asks for. */
const needsNoModule = (op: string, { fate }: JsonObject): boolean => ON_STORE.has(op) && !(op === "letter" && fate === "replay");

/** No module defines them. */
const isOfGuests = (op: string, { actor }: JsonObject): boolean =>
  op === "collect" || op === "reexecute" || (typeof actor === "string" && actor.startsWith("guest/"));
