import { LocalEngine } from "../engine/index.ts";
import { sqliteStore } from "../store/index.ts";
import type { DataDirectory } from "./data-directory.ts";
import { holdOutput } from "./hold-output.ts";
import { load } from "./load.ts";
import { usage } from "./exit-code.ts";
import { resolveToThisTroupe } from "./resolve-hook.ts";
import { operate } from "./operate.ts";
import { askControl } from "./control.ts";
import type { Json } from "../contract/index.ts";

/**
 * One operation that writes: by the running server through its socket, or, where
 * none runs, by an engine opened on the directory for just this.
 */
export const write = async (
  directory: DataDirectory,
  modules: readonly string[],
  op: string,
  args: Readonly<Record<string, Json>>,
): Promise<Json> => {
  const running = await askControl(directory.control, op, args);
  if (running !== undefined) return running.ok;
  const served = modules.length > 0 ? modules : (directory.readNote()?.modules ?? []);
  if (served.length === 0)
    throw usage(`No server runs on ${directory.path}, and it does not say which modules its actors are of: name them with --module.`);
  const unhook = resolveToThisTroupe();
  const held = holdOutput();
  try {
    const loaded = await load(served);
    await using store = sqliteStore({ directory: directory.path });
    await using engine = await LocalEngine.start({ kinds: loaded.parts.flatMap((part) => part.kinds), store });
    return await operate({ engine, store })(op, args);
  } finally {
    held.release();
    unhook();
  }
};
