import type { PageWrites } from "./map-pages.ts";

/** One `set`, or with undefined one `clear`. */
export type Write = readonly [name: string, text: string | undefined];

/** Values under names, as text, and all reads and writes. */
export class MapText implements PageWrites {
  readonly values: Map<string, string>;
  /** In order. */
  writes: Write[] = [];
  reads: string[] = [];

  constructor(values: ReadonlyMap<string, string> = new Map()) {
    this.values = new Map(values);
  }

  async get(name: string): Promise<unknown> {
    this.reads.push(name);
    const text = this.values.get(name.toWellFormed());
    return text === undefined ? null : JSON.parse(text);
  }

  set(name: string, value: unknown): void {
    // As bytes once, because a lone surrogate that JSON had not escaped would be lost on its way to a server.
    this.write([name, Buffer.from(JSON.stringify(value)).toString()]);
  }

  clear(name: string): void {
    this.write([name, undefined]);
  }

  write([given, text]: Write): void {
    // As bytes, too.
    const name = given.toWellFormed();
    this.writes.push([name, text]);
    if (text === undefined) this.values.delete(name);
    else this.values.set(name, text);
  }

  forget(): void {
    this.writes = [];
    this.reads = [];
  }
}

/** Reads while writes of another go on: before each read, some of them are done. */
export class BetweenWrites {
  readonly #text: MapText;
  readonly #writes: Write[];
  readonly #steps: () => number;

  constructor(before: ReadonlyMap<string, string>, writes: readonly Write[], steps: () => number) {
    this.#text = new MapText(before);
    this.#writes = [...writes];
    this.#steps = steps;
  }

  get over(): boolean {
    return this.#writes.length === 0;
  }

  get(name: string): Promise<unknown> {
    for (const write of this.#writes.splice(0, this.#steps())) this.#text.write(write);
    return this.#text.get(name);
  }
}
