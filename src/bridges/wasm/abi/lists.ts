import { utf8Of } from "../../../core/platform/index.ts";
import type { WitValue } from "../wit.ts";
import { type Codec, type CoreType, isList, u32At, unfit } from "./codec.ts";
import type { GuestMemory, Placed } from "./memory.ts";

/** What one element costs the host at least, however small it is in the guest: a list of empty records takes no memory there. */
const ELEMENT_BYTES = 16;
const FLAT: readonly CoreType[] = ["i32", "i32"];

export const BYTES: Codec = counted(
  (memory, pointer, count) => memory.copy(pointer, count),
  (memory, value) => {
    if (!(value instanceof Uint8Array)) throw unfit("list<u8>");
    return memory.put(value);
  },
);

export const TEXT: Codec = counted(
  (memory, pointer, count) => memory.text(pointer, count),
  (memory, value) => {
    if (typeof value !== "string") throw unfit("string");
    return memory.put(utf8Of(value));
  },
);

export function listOf(element: Codec): Codec {
  const { size, align } = element;
  const cost = Math.max(size, ELEMENT_BYTES);
  return counted(
    (memory, pointer, count) => {
      memory.check(pointer, count * size, align, "list");
      memory.budget.spend(count * cost);
      const values: WitValue[] = [];
      for (let index = 0; index < count; index += 1) values.push(element.load(memory, pointer + index * size));
      return values;
    },
    (memory, value) => {
      if (!isList(value)) throw unfit("a list");
      memory.budget.spend(value.length * cost);
      const pointer = memory.allocate(value.length * size, align);
      for (const [index, one] of value.entries()) element.store(memory, one, pointer + index * size);
      return { pointer, count: value.length };
    },
  );
}

/** What is passed as an address and a count. */
function counted(
  read: (memory: GuestMemory, pointer: number, count: number) => WitValue,
  put: (memory: GuestMemory, value: WitValue) => Placed,
): Codec {
  return {
    size: 8,
    align: 4,
    flat: FLAT,
    load: (memory, at) => read(memory, memory.view.getUint32(at, true), memory.view.getUint32(at + 4, true)),
    store(memory, value, at) {
      const { pointer, count } = put(memory, value);
      memory.view.setUint32(at, pointer, true);
      memory.view.setUint32(at + 4, count, true);
    },
    lift: (memory, flat, at) => read(memory, u32At(flat, at), u32At(flat, at + 1)),
    lower(memory, value, flat, at) {
      const { pointer, count } = put(memory, value);
      flat[at] = pointer;
      flat[at + 1] = count;
    },
  };
}
