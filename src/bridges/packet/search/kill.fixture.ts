/** A process that is killed while it writes and its index follows. */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { LocalEngine } from "../../../core/engine/index.ts";
import { sqliteStore } from "../../../core/store/index.ts";
import { searchIndex } from "./search.ts";
import { diary, searched, tell } from "./notes.fixture.ts";

const [directory = "", round = "0"] = process.argv.slice(2);
const engine = await LocalEngine.start({ kinds: [diary], store: sqliteStore({ directory }) });
const search = searchIndex({ engine, file: join(directory, "search.db"), kinds: [searched(diary)] });
for (let n = 0; ; n += 1) {
  await tell(engine, `diary/${n % 7}`, { text: `all r${round}n${n}` }, "ann");
  writeSync(1, ".");
  if (n % 50 === 49) await search.rebuild("diary/3");
}
