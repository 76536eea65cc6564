// Owns: ordered maps, as clients use them. Does not own: the virtual object (map-object.ts).
import { hash } from "node:crypto";
import type { JsonObject, Json } from "../../core/contract/index.ts";
import { isObject } from "./handler-inputs.ts";
import { isEntries, type Entry } from "./map-pages.ts";
import type { MapInputs } from "./map-object.ts";
import { Names } from "./names.ts";
import { type TakeResult, LIST_ENTRIES, type MapList, type Range } from "./paged-map.ts";
import { GuardedIngress, unexpectedAnswer, type GuardedIngressOptions } from "./ingress.ts";

/** Options of `MapClient`. */
export interface MapClientOptions extends GuardedIngressOptions {
  /** Prefix of the served object. Default none. */
  readonly prefix?: string;
}

/** Maps on a Restate server, for any process that reaches its ingress. */
export class MapClient {
  readonly #ingress: GuardedIngress;
  readonly #object: string;

  constructor(options: MapClientOptions) {
    this.#ingress = new GuardedIngress(options);
    this.#object = new Names(options.prefix).map;
  }

  /** `shards` must be the same wherever the name is used. */
  shardedMap(name: string, shards: number): ShardedMap {
    return new ShardedMap(this.#ingress, this.#object, name, shards);
  }

  now(): number {
    return this.#ingress.now();
  }
}

type Ingress = Pick<GuardedIngress, "read" | "write">;

/** The virtual object's key of the shard that has `key`. */
export const shardOf = (name: string, shards: number, key: string): string =>
  `${name}/${parseInt(hash("sha256", key, "hex").slice(0, 8), 16) % shards}`;

/**
 * A map in several shards. A shard has one writer at a time, so more shards allow more writes, but a list asks each of them. Every read
 * that starts after a write sees it, through any client. Throws `EngineError`.
 */
export class ShardedMap {
  readonly #ingress: Ingress;
  readonly #object: string;
  readonly #name: string;
  readonly #shards: number;

  constructor(ingress: Ingress, object: string, name: string, shards: number) {
    this.#ingress = ingress;
    this.#object = object;
    this.#name = name;
    this.#shards = shards;
  }

  /** Returns true if it is new. A key is any text of 1 to 1,024 UTF-16 code units, a value has at most 256 KiB of JSON. */
  async put(key: string, value: Json): Promise<boolean> {
    return this.#boolean(await this.#write("put", this.#shard(key), { key, value }));
  }

  /** Returns how many are new. At most 1,000 and 1 MiB of JSON. Atomic per shard; shards are written one after the other. */
  async putMany(entries: readonly Entry[]): Promise<number> {
    let news = 0;
    for (const [shard, part] of Map.groupBy(entries, ([key]) => this.#shard(key)))
      news += this.#number(await this.#write("putMany", shard, { entries: part }));
    return news;
  }

  /**
   * Sets top-level fields of a value, and leaves its others. With `above`, only if the value's number of that name is less than the one in
   * `fields`. Returns true if there is such a value.
   */
  async patch(key: string, fields: JsonObject, above?: string): Promise<boolean> {
    return this.#boolean(await this.#write("patch", this.#shard(key), { key, fields, ...(above !== undefined && { above }) }));
  }

  /** Puts `value` if the current value is exactly `before`, as `get` returned it. Returns true if it was. */
  async replace(key: string, before: Json, value: Json): Promise<boolean> {
    return this.#boolean(await this.#write("replace", this.#shard(key), { key, before, value }));
  }

  async get(key: string): Promise<Json | undefined> {
    const answer = await this.#read("get", this.#shard(key), { key });
    if (answer === null) return undefined;
    if (!isFound(answer)) throw this.#unexpected();
    return answer.found;
  }

  /** Returns true if it was there. */
  async delete(key: string): Promise<boolean> {
    return this.#boolean(await this.#write("delete", this.#shard(key), { key }));
  }

  async count(): Promise<number> {
    const counts = await Promise.all(this.#all().map((shard) => this.#read("count", shard, null)));
    return counts.reduce<number>((sum, count) => sum + this.#number(count), 0);
  }

  /** In order of keys, by UTF-16 code unit. Fewer than `limit` and than 1,000 entries: there are no more. */
  async list({ after, prefix, limit }: Range): Promise<readonly Entry[]> {
    const most = Math.min(limit, LIST_ENTRIES);
    const entries: Entry[] = [];
    for (let from = after; ; from = entries.at(-1)?.[0]) {
      const range: Range = { limit: most - entries.length, after: from, prefix };
      const parts = await Promise.all(this.#all().map((shard) => this.#list(shard, range)));
      // After the end of a truncated shard, entries of other shards would come too early.
      const ends = parts.flatMap((part) => (part.more ? [part.entries.at(-1)?.[0] ?? ""] : []));
      const sure = ends.length === 0 ? undefined : ends.reduce((least, end) => (end < least ? end : least));
      const merged = parts.flatMap((part) => part.entries).filter(([key]) => sure === undefined || key <= sure);
      merged.sort(([one], [other]) => (one < other ? -1 : 1));
      entries.push(...merged.slice(0, most - entries.length));
      if (sure === undefined || entries.length >= most) return entries;
    }
  }

  /** All entries, in order of keys, from requests for `page` at a time. */
  async *all({ prefix, page = LIST_ENTRIES }: { readonly prefix?: string; readonly page?: number } = {}): AsyncGenerator<Entry> {
    for (let after: string | undefined; ;) {
      const entries = await this.list({ after, prefix, limit: page });
      yield* entries;
      if (entries.length < page) return;
      after = entries.at(-1)?.[0];
    }
  }

  /** Deletes the entries whose `field` is a number below `before`, and returns their keys. */
  async take({ before, field }: { readonly before: number; readonly field: string }): Promise<readonly string[]> {
    const of = async (shard: string): Promise<readonly string[]> => {
      const keys: string[] = [];
      for (;;) {
        const taken = await this.#write("take", shard, { before, field, limit: LIST_ENTRIES });
        if (!isTakeResult(taken)) throw this.#unexpected();
        keys.push(...taken.keys);
        if (!taken.more) return keys;
      }
    };
    return (await Promise.all(this.#all().map(of))).flat();
  }

  async #list(shard: string, range: Range): Promise<MapList> {
    const answer = await this.#read("list", shard, range);
    if (!isMapList(answer)) throw this.#unexpected();
    return answer;
  }

  #write<H extends keyof MapInputs>(handler: H, key: string, input: MapInputs[H]): Promise<unknown> {
    return this.#ingress.write({ object: this.#object, key, handler, input });
  }

  #read<H extends keyof MapInputs>(handler: H, key: string, input: MapInputs[H]): Promise<unknown> {
    return this.#ingress.read({ object: this.#object, key, handler, input });
  }

  #shard(key: string): string {
    return shardOf(this.#name, this.#shards, key);
  }

  #all(): readonly string[] {
    return Array.from({ length: this.#shards }, (_, n) => `${this.#name}/${n}`);
  }

  #boolean(answer: unknown): boolean {
    if (typeof answer !== "boolean") throw this.#unexpected();
    return answer;
  }

  #number(answer: unknown): number {
    if (typeof answer !== "number") throw this.#unexpected();
    return answer;
  }

  #unexpected(): Error {
    return unexpectedAnswer({ object: this.#object });
  }
}

const isFound = (value: unknown): value is { readonly found: Json } => isObject(value) && value["found"] !== undefined;

const isTakeResult = (value: unknown): value is TakeResult =>
  isObject(value) &&
  Array.isArray(value["keys"]) &&
  value["keys"].every((key) => typeof key === "string") &&
  typeof value["more"] === "boolean";

export const isMapList = (value: unknown): value is MapList =>
  isObject(value) && isEntries(value["entries"]) && typeof value["more"] === "boolean";
