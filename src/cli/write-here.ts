import { type JsonObject, EngineError, type Json } from "../core/contract/index.ts";
import { LocalEngine } from "../core/engine/index.ts";
import { sqliteStore } from "../core/store/index.ts";
import type { DataDirectory } from "./data-directory.ts";
import { CommandError, describeFailure, EXIT } from "./exit-code.ts";
import { faultFields } from "./fault-fields.ts";
import { indexesOf } from "./load.ts";
import { notesLoss } from "./noted-loss.ts";
import { operate } from "./operate.ts";
import { openWhenFree } from "./open-when-free.ts";
import type { Common } from "./options.ts";
import { textOr } from "./text-or.ts";
import { withModules } from "./with-modules.ts";

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
