// Owns: reading and writing JSON values in this browser's storage. Does not own: what they are.

/** Undefined: nothing is stored under that name, or it cannot be read. */
export function readStored(name: string): unknown {
  try {
    const text = localStorage.getItem(name);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Does nothing where the storage is full or off: the value then lasts as long as the page. */
export function writeStored(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // Nothing the user could do about it.
  }
}
