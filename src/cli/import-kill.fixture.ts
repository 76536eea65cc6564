/** An import that is killed at a counted point: after so many steps of its importer. Arguments: file, directory, steps. */
import { createReadStream } from "node:fs";
import { readDump } from "../core/chain/index.ts";
import type { Importer } from "../core/contract/index.ts";
import { sqliteImporter } from "../core/store/index.ts";

const [file = "", directory = "", steps = "0", flushes = "never"] = process.argv.slice(2);
let left = Number(steps);

/** Before and after each step something may end the process. */
const counted = async <T>(step: () => Promise<T>): Promise<T> => {
  left -= 1;
  if (left < 0) process.kill(process.pid, "SIGKILL");
  return await step();
};

const importer = sqliteImporter({ directory });
const mortal: Importer = {
  actor: (actor) =>
    counted(async () => {
      // As if so much had come since the last flush.
      if (flushes === "each") await importer.flush();
      const arrival = await importer.actor(actor);
      return (
        arrival && {
          event: (event, full) => counted(() => arrival.event(event, full)),
          call: (call) => counted(() => arrival.call(call)),
          commit: (state) => counted(() => arrival.commit(state)),
          abort: () => arrival.abort(),
        }
      );
    }),
  message: (undelivered) => counted(() => importer.message(undelivered)),
  letter: (letter) => counted(() => importer.letter(letter)),
  flush: () => counted(() => importer.flush()),
  [Symbol.asyncDispose]: () => importer[Symbol.asyncDispose](),
};
await readDump(createReadStream(file), async () => mortal);
