/** Headers that decide something here: whoever sends one twice wants two readers to see two requests. */
const ONCE = new Set([
  "authorization",
  "content-length",
  "content-type",
  "host",
  "idempotency-key",
  "last-event-id",
  "origin",
  "transfer-encoding",
]);

interface Known {
  readonly name: string;
  readonly once: boolean;
}

// Clients spell a name the same way each time: remembering it saves lower-casing per request. Bounded, since names come from outside.
const KNOWN_MAX = 512;
const known = new Map<string, Known>();

function know(raw: string): Known {
  const found = known.get(raw);
  if (found !== undefined) return found;
  const name = raw.toLowerCase();
  const made = { name, once: ONCE.has(name) || name.startsWith("mcp-") };
  if (known.size < KNOWN_MAX && raw.length <= 64) known.set(raw, made);
  return made;
}

/** A request's headers as they came, looked up without building a map of them. */
export class HeaderList {
  readonly #raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.#raw = raw;
  }

  get count(): number {
    return this.#raw.length / 2;
  }

  /** By its lower-case name; several of a kind that may be repeated are joined by commas. */
  get(name: string): string | undefined {
    const raw = this.#raw;
    let value: string | undefined;
    for (let index = 0; index < raw.length; index += 2) {
      const key = raw[index];
      if (key === undefined || key.length !== name.length || (key !== name && know(key).name !== name)) continue;
      const text = raw[index + 1] ?? "";
      value = value === undefined ? text : `${value}, ${text}`;
    }
    return value;
  }

  /** The lower-case name of a header that was sent twice and may not be. */
  duplicated(): string | undefined {
    const raw = this.#raw;
    for (let index = 0; index < raw.length; index += 2) {
      const one = know(raw[index] ?? "");
      if (!one.once) continue;
      for (let later = index + 2; later < raw.length; later += 2) {
        const other = raw[later];
        if (other !== undefined && other.length === one.name.length && know(other).name === one.name) return one.name;
      }
    }
    return undefined;
  }
}
