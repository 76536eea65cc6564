// Owns: `npm run docs:undocumented`, which prints public names without a docstring or an example. Does not own: finding them (reference.ts).
import { parseArgs } from "node:util";
import { undocumented } from "./reference.ts";

const { values } = parseArgs({ options: { json: { type: "boolean" } } });
const found = await undocumented();
if (values.json === true) console.log(JSON.stringify(found, null, 2));
else for (const { name, missing } of found) console.log(`${name}: no ${missing}`);
