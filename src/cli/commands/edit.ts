// Owns: `troupe edit`: the new state from options, a file or an editor. Does not own: who performs the edit (run-operation.ts).
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import type { Command } from "commander";
import { type ActorId, isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { moduleOption, resolveActor, addDirectoryOptions, clusterTarget, type WriteOptions } from "../actor-options.ts";
import { CommandError, describeFailure, EXIT, noActor, usage } from "../command-error.ts";
import { isListening } from "../control-socket.ts";
import { DataDirectory } from "../data-directory.ts";
import { readTextFile } from "../files.ts";
import { openReader } from "../open-store.ts";
import { parseJson, parseReason } from "../option-parsers.ts";
import { output } from "../output.ts";
import { runOperation } from "../run-operation.ts";

interface EditOptions extends WriteOptions {
  readonly reason: string;
  readonly as: string;
  readonly state?: string;
  readonly patch?: string;
  readonly file?: string;
  readonly force?: boolean;
  readonly allowEdit?: boolean;
}

export const register = (program: Command): void => {
  addDirectoryOptions(
    program
      .command("edit")
      .description("Write another state, as an event with a reason. Without a value, in a terminal: opens the state in $EDITOR.")
      .argument("<actor>", "kind/key"),
  )
    .requiredOption("--reason <text>", "why: it is stored with the event", parseReason)
    .option("--patch <json>", "a JSON Merge Patch, such as '{\"n\":3}'; null removes a member")
    .option("--state <json>", "the whole of the new state")
    .option("--file <file>", "the whole of the new state, in a file; - for standard input")
    .option("--as <name>", "who edits: it is stored with the event", "operator")
    .option("--force", "also if it does not fit the state's schema")
    .option("--allow-edit", "where no server runs: states are edited there although it is not troupe dev")
    .addOption(moduleOption())
    .action(async (actor: string, options: EditOptions) => {
      const id = await resolveActor(actor);
      const edited = await edit(id, options);
      output(options).show({ edited }, () => editedText(id, edited));
    });
};

const editedText = (id: string, edited: JsonObject | null): string => {
  if (edited === null) return `Nothing was changed: the state of ${id} stays as it is.`;
  const { seq, checked } = edited;
  const unchecked = checked === true ? "" : " It was not checked against the state's schema.";
  return `${id} has another state, by event ${typeof seq === "number" ? seq : "?"}.${unchecked}`;
};

/** Performs the edit that the options describe, or that the user makes in an editor. Null if the user changed nothing. */
const edit = async (id: ActorId, options: EditOptions): Promise<JsonObject | null> => {
  const { patch, state, file } = options;
  const given = [patch, state, file].filter((one) => one !== undefined);
  if (given.length > 1) throw usage("Give one of --patch, --state and --file.");
  if (given.length === 0 && !process.stdin.isTTY)
    throw usage("Give the new state: --patch, --state or --file. Only in a terminal does it open in an editor.");
  await refuseUnlessAllowed(options);
  if (patch !== undefined) return await send(id, options, { patch: jsonIn(patch, "--patch") });
  if (state !== undefined) return await send(id, options, { state: jsonIn(state, "--state") });
  if (file === undefined) return await inEditor(id, options);
  const text = file === "-" ? await textOf(process.stdin) : readTextFile(file, "--file");
  return await send(id, options, { state: jsonIn(text, "--file") });
};

const jsonIn = (text: string, what: string): Json => parseJson(text, what, '{"n":3}');

/** A running server decides whether edits are allowed; without one the user does. */
const refuseUnlessAllowed = async (options: EditOptions): Promise<void> => {
  if (clusterTarget(options) !== undefined) throw usage("On a cluster, turns alone write states: edit works on a data directory.");
  if (options.allowEdit === true) return;
  if (await isListening(new DataDirectory(options.data).control)) return;
  throw new CommandError(
    EXIT.refused,
    "NOT_AVAILABLE",
    'States are edited in "troupe dev" only, unless it is allowed. No server runs here: add --allow-edit to this command.',
  );
};

const send = async (id: ActorId, options: EditOptions, change: JsonObject): Promise<JsonObject> => {
  const { reason, as, force } = options;
  const written = await runOperation(options, "edit", { actor: id, reason, as, ...change, ...omitUndefined({ force }) });
  return isJsonObject(written) ? written : {};
};

const stateOf = async (id: ActorId, options: EditOptions) => {
  const { store } = await openReader(options);
  await using _ = store;
  const found = await store.state(id);
  if (found === undefined) throw noActor(id, store.place);
  return found;
};

const inEditor = async (id: ActorId, options: EditOptions): Promise<JsonObject | null> => {
  const found = await stateOf(id, options);
  const before = `${JSON.stringify(found.state, undefined, 2)}\n`;
  const folder = mkdtempSync(join(tmpdir(), "troupe-edit-"));
  const file = join(folder, "state.json");
  // A state may be private, so only the user can read the file.
  writeFileSync(file, before, { mode: 0o600 });
  let written: JsonObject | null = null;
  try {
    await openEditor(file);
    const after = readTextFile(file, "The edited state");
    if (after.trim() !== before.trim()) {
      // The head makes it fail if the actor has changed while the user edited.
      written = await send(id, options, { state: jsonIn(after, "The edited state"), head: found.head });
    }
  } catch (error) {
    const { exit, code, message } = describeFailure(error);
    throw new CommandError(exit, code, `${message} Your text is still in ${file}: correct it there, then pass it with --file.`);
  }
  rmSync(folder, { recursive: true, force: true });
  return written;
};

/** Opens a file in `$VISUAL` or `$EDITOR`, which may have arguments, and waits until it ends. Throws a `CommandError`. */
export const openEditor = async (file: string, environment: NodeJS.ProcessEnv = process.env): Promise<void> => {
  const isWindows = process.platform === "win32";
  const editor = environment["VISUAL"] || environment["EDITOR"] || (isWindows ? "notepad" : "vi");
  const child = isWindows
    ? spawn(`${editor} "${file}"`, { shell: true, stdio: "inherit" })
    : spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0)
    throw new CommandError(
      EXIT.failed,
      "EDITOR_FAILED",
      `The editor "${editor}" ended with ${code ?? "a signal"}: set EDITOR to one that works.`,
    );
};
