// Owns: checking a component's imports and exports against Theater's world. Does not own: the world (world.ts), and how core modules implement it (core-linkage.ts).
import { quoted, WasmError } from "../wasm-error.ts";
import { printFunction, sameSignature, signatureOf, type WitFunction } from "../wit.ts";
import { type Entity, type Exports, type Func, needsJco } from "./scope.ts";
import {
  type ExportName,
  EXPORTS,
  exportTypes,
  IMPORTS,
  importTypes,
  interfaceName,
  isExportInterface,
  isExportName,
  isImportInterface,
  OLD_CHANNEL_OPEN,
  type TheaterPackage,
} from "./world.ts";

export interface ActorExport {
  readonly func: Func;
  readonly type: WitFunction;
  readonly old: boolean;
}

interface ActorExports {
  readonly package: TheaterPackage;
  readonly functions: ReadonlyMap<ExportName, ActorExport>;
}

const worldError = (message: string): WasmError => new WasmError("WRONG_WORLD", message);

const shortList = (names: readonly string[]): string => {
  const listed = names
    .slice(0, 10)
    .map((name) => quoted(name))
    .join(", ");
  return names.length > 10 ? `${listed} and ${names.length - 10} more` : listed;
};

function wrongType(does: "imports" | "exports", of: string, name: string, expected: WitFunction, func: Func): WasmError {
  return worldError(
    `The component ${does} ${name} of ${of} with another type than Theater's world has. Expected: ${printFunction(signatureOf(expected))}. ` +
      `Found: ${printFunction(func.signature)}. Build it against Theater's WIT.`,
  );
}

const functionsOf = (exports: Exports): readonly (readonly [string, Func])[] =>
  [...exports].flatMap(([name, entity]) => (entity.sort === "func" ? [[name, entity] as const] : []));

/** An interface with types only needs no implementation. */
const hasTypesOnly = (exports: Exports): boolean => [...exports.values()].every(({ sort }) => sort === "type");

/** Imports that are not of Theater, except types. */
export const foreignImports = (imports: Exports): readonly (readonly [string, Entity])[] =>
  [...imports].filter(
    ([name, entity]) =>
      entity.sort !== "type" && !(entity.sort === "instance" && (interfaceName(name) !== undefined || hasTypesOnly(entity.exports))),
  );

/** Throws `WasmError` NEEDS_JCO if it has imports from outside Theater's world. */
export function refuseForeignImports(imports: Exports): void {
  const foreign = foreignImports(imports);
  if (foreign.length > 0)
    throw needsJco(`The component imports ${shortList(foreign.map(([name]) => name))}, which Theater's world does not have`);
}

/** Throws `WasmError` WRONG_WORLD if an import of Theater is unknown or has another type. */
export function checkImports(imports: Exports, expected: TheaterPackage): void {
  for (const [of, entity] of imports) {
    const name = interfaceName(of);
    if (name === undefined || entity.sort !== "instance" || hasTypesOnly(entity.exports)) continue;
    if (name.package !== expected)
      throw worldError(
        `The component exports the actor of ${expected} and imports ${quoted(of)}: build it against one of the two packages.`,
      );
    if (!isImportInterface(name.interface))
      throw worldError(`The component imports ${quoted(of)}, which is not offered here. Offered are: ${Object.keys(IMPORTS).join(", ")}.`);
    for (const [each, func] of functionsOf(entity.exports)) {
      const type = importTypes.get(`${name.interface}.${each}`);
      if (type === undefined)
        throw worldError(
          `The component imports ${quoted(each)} of ${of}, which has ${Object.keys(IMPORTS[name.interface]).join(", ")} only: build it without.`,
        );
      if (!sameSignature(signatureOf(type), func.signature)) throw wrongType("imports", of, each, type, func);
    }
  }
}

function checkExport(of: string, name: ExportName, func: Func): ActorExport {
  const expected = exportTypes.get(name);
  if (expected !== undefined && sameSignature(signatureOf(expected), func.signature)) return { func, type: expected, old: false };
  if (name === "message-server-client.handle-channel-open" && sameSignature(signatureOf(OLD_CHANNEL_OPEN), func.signature))
    return { func, type: OLD_CHANNEL_OPEN, old: true };
  throw wrongType("exports", of, name.slice(name.indexOf(".") + 1), expected ?? OLD_CHANNEL_OPEN, func);
}

/** Returns its exports of Theater; others are never called. Throws `WasmError` WRONG_WORLD. */
export function checkExports(exports: Exports): ActorExports {
  let theaterPackage: TheaterPackage | undefined;
  const functions = new Map<ExportName, ActorExport>();
  for (const [of, entity] of exports) {
    const name = interfaceName(of);
    if (name === undefined || !isExportInterface(name.interface) || entity.sort !== "instance") continue;
    if (theaterPackage !== undefined && theaterPackage !== name.package)
      throw worldError(
        `The component exports interfaces of ${theaterPackage} and ${quoted(of)}: build it against one of the two packages.`,
      );
    theaterPackage = name.package;
    for (const [each, func] of functionsOf(entity.exports)) {
      const full = `${name.interface}.${each}`;
      if (!isExportName(full)) continue;
      if (functions.has(full)) throw worldError(`The component exports ${full} twice, in two versions: leave one.`);
      functions.set(full, checkExport(of, full, func));
    }
  }
  if (theaterPackage === undefined || !functions.has("actor.init"))
    throw worldError(
      `The component is no actor: it has to export the interface theater:simple/actor (or ntwk:theater/actor) with init: ${printFunction(signatureOf(EXPORTS.actor.init))}. ` +
        `It exports ${exports.size === 0 ? "nothing" : shortList([...exports.keys()])}.`,
    );
  return { package: theaterPackage, functions };
}
