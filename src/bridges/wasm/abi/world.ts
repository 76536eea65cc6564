import type { WitFunction } from "../wit.ts";
import { EXPORTS, type ExportName, IMPORTS, type ImportName, OLD_CHANNEL_OPEN } from "../world/interfaces.ts";
import { type Exported, exported, type Imported, imported } from "./signature.ts";

/** The world is fixed, so its functions are compiled once for all components, each when it is first met. */
const functions = new Map<string, WitFunction>();
const imports = new Map<ImportName, Imported>();
const exports = new Map<ExportName, Exported>();
let oldChannelOpen: Exported | undefined;

for (const table of [IMPORTS, EXPORTS])
  for (const [group, members] of Object.entries(table))
    for (const [name, type] of Object.entries<WitFunction>(members)) functions.set(`${group}.${name}`, type);

function typeOf(name: ImportName | ExportName): WitFunction {
  const type = functions.get(name);
  if (type === undefined) throw new Error(`Theater's world has no function ${name}: the component was not checked.`);
  return type;
}

export function importOf(name: ImportName): Imported {
  let found = imports.get(name);
  if (found === undefined) imports.set(name, (found = imported(typeOf(name))));
  return found;
}

/** `old`: without the channel's id. */
export function exportOf(name: ExportName, old: boolean): Exported {
  if (old && name === "message-server-client.handle-channel-open") return (oldChannelOpen ??= exported(OLD_CHANNEL_OPEN));
  let found = exports.get(name);
  if (found === undefined) exports.set(name, (found = exported(typeOf(name))));
  return found;
}
