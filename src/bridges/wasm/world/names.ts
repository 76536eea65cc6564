import type { WitFunction } from "../wit.ts";
import { EXPORTS, type ExportInterface, type ExportName, IMPORTS, type ImportInterface, type ImportName } from "./interfaces.ts";

export type TheaterPackage = "theater:simple" | "ntwk:theater";

export interface InterfaceName {
  readonly package: TheaterPackage;
  readonly interface: string;
}

/** `theater:simple/actor`, with a version or without; undefined: it is not of Theater. */
export function interfaceName(name: string): InterfaceName | undefined {
  const [, of, last] = /^(theater:simple|ntwk:theater)\/([a-z][a-z0-9-]*)(?:@[0-9A-Za-z.+-]+)?$/.exec(name) ?? [];
  if (last === undefined || (of !== "theater:simple" && of !== "ntwk:theater")) return undefined;
  return { package: of, interface: last };
}

const flat = (table: Readonly<Record<string, Readonly<Record<string, WitFunction>>>>): ReadonlyMap<string, WitFunction> =>
  new Map(Object.entries(table).flatMap(([of, functions]) => Object.entries(functions).map(([name, type]) => [`${of}.${name}`, type])));

/** By their names: `message-server-host.send` */
export const importTypes = flat(IMPORTS);
export const exportTypes = flat(EXPORTS);

const isImportName = (name: string): name is ImportName => importTypes.has(name);
export const isExportName = (name: string): name is ExportName => exportTypes.has(name);
export const isImportInterface = (name: string): name is ImportInterface => Object.hasOwn(IMPORTS, name);
export const isExportInterface = (name: string): name is ExportInterface => Object.hasOwn(EXPORTS, name);

/** Of what a core module calls `theater:simple/actor#init`; undefined: it is no export that Theater has. */
export function exportNameOfCore(core: string): ExportName | undefined {
  const hash = core.indexOf("#");
  const full = `${interfaceName(core.slice(0, Math.max(hash, 0)))?.interface}.${core.slice(hash + 1)}`;
  return isExportName(full) ? full : undefined;
}

/** Of a function of an interface; undefined: it is none that Theater has. */
export function importName(of: string, name: string): ImportName | undefined {
  const full = `${interfaceName(of)?.interface}.${name}`;
  return isImportName(full) ? full : undefined;
}
