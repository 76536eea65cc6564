import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import { plain } from "./kinds/plain.ts";

const AT_ONCE = 1_000;

/** Fills a directory with `actors` sleeping actors, from `plain-disk/a0` on, each of which was called `calls` times. */
export const fillStore = async (directory: string, actors: number, calls = 1): Promise<void> => {
  const { policy, ...kind } = plain("disk");
  await using store = sqliteStore({ directory });
  await using engine = await LocalEngine.start({ kinds: [{ ...kind, policy: { ...policy, idleMs: 1 } }], store });
  for (let n = 0; n < actors; n += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, actors - n) * calls }, (_, m) =>
        engine.call({ to: `plain-disk/a${n + Math.floor(m / calls)}`, action: "add", args: {}, start: null }),
      ),
    );
};
