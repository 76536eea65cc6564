import type { IncomingMessage } from "node:http";

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

/** By lower-case names. */
type HeaderMap = Readonly<Record<string, string | string[] | undefined>>;

/** A request's headers, looked up in the map that node:http has made of them before anybody sees the request: a second one would be a second pass. */
export class HeaderList {
  readonly #map: HeaderMap;
  readonly #raw: readonly string[];

  /** `raw`: names and values as they came, by which what was sent twice is found. */
  constructor(map: HeaderMap, raw: readonly string[]) {
    this.#map = map;
    this.#raw = raw;
  }

  get count(): number {
    return this.#raw.length / 2;
  }

  /** By its lower-case name; several of a kind that may be repeated are joined by commas. */
  get(name: string): string | undefined {
    const value = this.#map[name];
    if (typeof value === "string") return value;
    return Array.isArray(value) ? value.join(", ") : undefined;
  }

  /** The lower-case name of a header that was sent twice and may not be. */
  duplicated(): string | undefined {
    // Where each has a place of its own in the map, none was sent twice.
    let names = 0;
    for (const _name in this.#map) names += 1;
    return names === this.count ? undefined : this.#repeated();
  }

  #repeated(): string | undefined {
    const seen = new Set<string>();
    for (let index = 0; index < this.#raw.length; index += 2) {
      const name = (this.#raw[index] ?? "").toLowerCase();
      if (seen.has(name) && (ONCE.has(name) || name.startsWith("mcp-"))) return name;
      seen.add(name);
    }
    return undefined;
  }
}

export const headersOf = ({ headers, rawHeaders }: IncomingMessage): HeaderList => new HeaderList(headers, rawHeaders);

/** As they came, whatever others have made of the map meanwhile: an application may add to it, and then it does not tell what was sent twice. */
export function headersAsSent(raw: readonly string[]): HeaderList {
  const map = new Map<string, string>();
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    const before = map.get(name);
    map.set(name, before === undefined ? (raw[index + 1] ?? "") : `${before}, ${raw[index + 1] ?? ""}`);
  }
  return new HeaderList(Object.fromEntries(map), raw);
}
