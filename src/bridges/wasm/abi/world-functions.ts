import type { WitFunction, WitValue } from "../wit.ts";
import { type ExportName, EXPORTS, type ImportName, IMPORTS, OLD_CHANNEL_OPEN } from "../component/world.ts";
import { type Codec, isList, u32At } from "./codec.ts";
import { codecOf, tupleOf } from "./compound-codecs.ts";
import { type CoreValue, GuestTrap } from "./webassembly.ts";
import type { GuestMemory } from "./memory.ts";

/** More core values than these go through memory. */
const MAX_PARAMS = 16;
const MAX_RESULTS = 1;

/** A function that the guest exports, compiled. */
export interface Exported {
  /** How many core values it takes. */
  readonly arity: number;
  lower(memory: GuestMemory, params: readonly WitValue[]): readonly CoreValue[];
  /** Of what the core function gave. */
  lift(memory: GuestMemory, given: unknown): WitValue;
}

/** A function that the guest imports, compiled. */
export interface Imported {
  /** It can tell the guest that it failed. */
  readonly fallible: boolean;
  /** Its arguments. That its result will have a place is checked too: once the host has acted, it is too late. */
  lift(memory: GuestMemory, flat: readonly CoreValue[]): readonly WitValue[];
  /** `flat`: as it was called. */
  lower(memory: GuestMemory, result: WitValue, flat: readonly CoreValue[]): CoreValue | undefined;
}

export function exported(type: WitFunction): Exported {
  const { params, result } = compiled(type);
  const spilt = params.flat.length > MAX_PARAMS;
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
      if (result.flat.length <= MAX_RESULTS) return result.lift(memory, [given], 0);
      const pointer = u32At([given], 0);
      memory.check(pointer, result.size, result.align, "result");
      return result.load(memory, pointer);
    },
  };
}

export function imported(type: WitFunction): Imported {
  const { params, result } = compiled(type);
  const spilt = params.flat.length > MAX_PARAMS;
  const place = result !== undefined && result.flat.length > MAX_RESULTS ? (spilt ? 1 : params.flat.length) : -1;
  return {
    fallible: typeof type.result === "object" && "result" in type.result,
    lift(memory, flat) {
      if (result !== undefined && place >= 0) memory.check(u32At(flat, place), result.size, result.align, "place for a result");
      if (!spilt) return tupled(params.lift(memory, flat, 0));
      const pointer = u32At(flat, 0);
      memory.check(pointer, params.size, params.align, "parameters");
      return tupled(params.load(memory, pointer));
    },
    lower(memory, value, flat) {
      if (result === undefined) return undefined;
      if (place >= 0) {
        result.store(memory, value, u32At(flat, place));
        return undefined;
      }
      const one: CoreValue[] = [];
      result.lower(memory, value, one, 0);
      return one[0];
    },
  };
}

const tupled = (values: WitValue): readonly WitValue[] => (isList(values) ? values : []);

function compiled({ params, result }: WitFunction): { readonly params: Codec; readonly result: Codec | undefined } {
  return { params: tupleOf(Object.values(params).map(codecOf)), result: result && codecOf(result) };
}

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
