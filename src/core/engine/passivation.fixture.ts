// Begins so many actors with states of so many bytes in a directory, then reads them all, in a heap that does not hold them.
import { join } from "node:path";
import type { ActorId } from "../contract/index.ts";
import { sqliteStore } from "../store/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

const [directory = "", actors = "0", stateBytes = "0", atOnce = "1"] = process.argv.slice(2);
await using store = sqliteStore({ path: join(directory, "actors.db") });
await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
const idOf = (n: number): ActorId => `tally/a${n}`;
const begin = (n: number) =>
  engine.call({ to: idOf(n), action: "note", args: { text: `${n}`.padEnd(Number(stateBytes), "x") }, start: null });
for (let n = 0; n < Number(actors); n += Number(atOnce)) await Promise.all(Array.from({ length: Number(atOnce) }, (_, k) => begin(n + k)));
let read = 0;
for (let n = 0; n < Number(actors); n += 1) if ((await engine.read(idOf(n))) !== undefined) read += 1;
process.stdout.write(`${read} read`);
