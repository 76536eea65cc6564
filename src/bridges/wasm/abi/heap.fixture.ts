import { Budget, GuestMemory } from "./memory.ts";

/** A memory whose every allocation moves it to another buffer, as growth does, so that no view is used for too long. */
export function heap(initial = 64): { readonly memory: GuestMemory; readonly budget: (bytes: number) => void } {
  let buffer = new ArrayBuffer(initial);
  const memory = new GuestMemory(
    {
      get buffer() {
        return buffer;
      },
    },
    (_old, _oldSize, align, size) => {
      const at = Math.ceil(buffer.byteLength / Number(align)) * Number(align);
      buffer = buffer.transfer(at + Number(size));
      return at;
    },
  );
  return { memory, budget: (bytes) => void (memory.budget = new Budget(bytes, "More")) };
}
