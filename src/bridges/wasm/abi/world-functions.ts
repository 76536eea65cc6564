// Owns: the functions of Theater's world, compiled to codecs: passing parameters and results of imports and exports.
import { isList, type WitFunction, type WitValue } from "../wit.ts";
import { type ExportName, exportTypes, type ImportName, importTypes, OLD_CHANNEL_OPEN } from "../component/world.ts";
import { type Codec, MAX_FLAT_PARAMS, MAX_FLAT_RESULTS, u32At } from "./codec.ts";
import { codecOf, tupleOf } from "./compound-codecs.ts";
import { type CoreValue, GuestTrap } from "./webassembly.ts";
import type { GuestMemory } from "./memory.ts";

/** A function that the guest exports, compiled. */
export interface CompiledExport {
  /** How many core values it takes. */
  readonly arity: number;
  lower(memory: GuestMemory, params: readonly WitValue[]): readonly CoreValue[];
  /** `given`: what the core function returned. */
  lift(memory: GuestMemory, given: unknown): WitValue;
}

/** A function that the guest imports, compiled. */
interface CompiledImport {
  /** Its type is a WIT result, so the guest can receive an error. */
  readonly fallible: boolean;
  /** Reads its arguments. Also checks the pointer for its result, before the host acts. */
  lift(memory: GuestMemory, flat: readonly CoreValue[]): readonly WitValue[];
  /** `flat`: the core values of the call. */
  lower(memory: GuestMemory, result: WitValue, flat: readonly CoreValue[]): CoreValue | undefined;
}

export function compileExport(type: WitFunction): CompiledExport {
  const { params, result } = compileSignature(type);
  const spilt = params.flat.length > MAX_FLAT_PARAMS;
  return {
    arity: spilt ? 1 : params.flat.length,
    lower(memory, values) {
      if (spilt) {
        const pointer = memory.allocate(params.size, params.align);
        params.store(memory, values, pointer);
        return [pointer];
      }
      const flat: CoreValue[] = [];
      params.lower(memory, values, flat, 0);
      return flat;
    },
    lift(memory, given) {
      if (result === undefined) return undefined;
      if (typeof given !== "number" && typeof given !== "bigint") throw new GuestTrap("A core function of the guest gives no result.");
      if (result.flat.length <= MAX_FLAT_RESULTS) return result.lift(memory, [given], 0);
      const pointer = u32At([given], 0);
      memory.check(pointer, result.size, result.align, "result");
      return result.load(memory, pointer);
    },
  };
}

export function compileImport(type: WitFunction): CompiledImport {
  const { params, result } = compileSignature(type);
  const spilt = params.flat.length > MAX_FLAT_PARAMS;
  const resultPointerIndex = result !== undefined && result.flat.length > MAX_FLAT_RESULTS ? (spilt ? 1 : params.flat.length) : -1;
  return {
    fallible: typeof type.result === "object" && "result" in type.result,
    lift(memory, flat) {
      if (result !== undefined && resultPointerIndex >= 0)
        memory.check(u32At(flat, resultPointerIndex), result.size, result.align, "place for a result");
      if (!spilt) return asTuple(params.lift(memory, flat, 0));
      const pointer = u32At(flat, 0);
      memory.check(pointer, params.size, params.align, "parameters");
      return asTuple(params.load(memory, pointer));
    },
    lower(memory, value, flat) {
      if (result === undefined) return undefined;
      if (resultPointerIndex >= 0) {
        result.store(memory, value, u32At(flat, resultPointerIndex));
        return undefined;
      }
      const one: CoreValue[] = [];
      result.lower(memory, value, one, 0);
      return one[0];
    },
  };
}

const asTuple = (values: WitValue): readonly WitValue[] => (isList(values) ? values : []);

function compileSignature({ params, result }: WitFunction): { readonly params: Codec; readonly result: Codec | undefined } {
  return { params: tupleOf(Object.values(params).map(codecOf)), result: result && codecOf(result) };
}

/** The world is fixed, so each function is compiled once for all components, at its first use. */
const imports = new Map<ImportName, CompiledImport>();
const exports = new Map<ExportName, CompiledExport>();
let oldChannelOpen: CompiledExport | undefined;

function typeIn(types: ReadonlyMap<string, WitFunction>, name: ImportName | ExportName): WitFunction {
  const type = types.get(name);
  if (type === undefined) throw new Error(`Theater's world has no function ${name}: the component was not checked.`);
  return type;
}

export function compiledImport(name: ImportName): CompiledImport {
  let found = imports.get(name);
  if (found === undefined) imports.set(name, (found = compileImport(typeIn(importTypes, name))));
  return found;
}

/** `old`: `handle-channel-open` without the channel's id. */
export function compiledExport(name: ExportName, old: boolean): CompiledExport {
  if (old && name === "message-server-client.handle-channel-open") return (oldChannelOpen ??= compileExport(OLD_CHANNEL_OPEN));
  let found = exports.get(name);
  if (found === undefined) exports.set(name, (found = compileExport(typeIn(exportTypes, name))));
  return found;
}
