import { hash } from "node:crypto";
import type { ActorId, Json, Outgoing, Reply } from "../../../core/contract/index.ts";
import type { ChannelEnd } from "../guest-state.ts";
import type { Given } from "./values.ts";

/**
 * What a call leaves with its commit (C5), and what has become of children and channels meanwhile.
 * `born`, `ended` and `opened` are done already: they hold even where the call fails.
 */
export class Gathered {
  readonly sends: Outgoing[] = [];
  readonly emits: Json[] = [];
  /** To requests that were to be answered later, by their ids. */
  readonly answers = new Map<string, Reply>();
  readonly opened = new Map<string, ChannelEnd>();
  /** Asked for, whatever was answered, if anything was. */
  readonly tried = { channels: new Map<string, ChannelEnd>(), children: new Set<ActorId>() };
  readonly closed = new Set<string>();
  /** By their UUIDs. */
  readonly born = new Map<string, ActorId>();
  readonly ended = new Set<string>();
  /** It wants to end with this call. */
  shutdown: { readonly data: Uint8Array | undefined } | undefined;
  #drawn = 0;
  #requests = 0;

  /** Numbers what this call derives from its seed. */
  next(): number {
    return this.#drawn++;
  }

  /** Numbers the requests of this try. */
  nextRequest(): number {
    return this.#requests++;
  }
}

interface Before {
  readonly name: string;
  readonly data: Uint8Array;
  readonly given: Promise<Given>;
}

/** The requests of one call: tried again after its worker died, it makes the same ones, and is given what they were answered. */
export class Asked {
  readonly #before: Before[] = [];

  /** `n`: the which of this try. */
  once(n: number, name: string, data: Uint8Array, ask: () => Promise<Given>): Promise<Given> {
    const before = this.#before[n];
    if (before !== undefined && before.name === name && Buffer.compare(before.data, data) === 0) return before.given;
    const given = before === undefined ? ask() : ask().then((one) => ({ ...one, lasting: true }));
    this.#before[n] = { name, data, given };
    return given;
  }
}

/** Ids that follow from a message's seed: work that runs again makes the same ones. 64 hex digits. */
export const derived = (seed: string, what: string, n: number): string => hash("sha256", `${seed}:${what}:${n}`, "hex");

export function derivedUuid(seed: string, what: string, n: number): string {
  const hex = derived(seed, what, n);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
export const isUuid = (text: string): boolean => UUID.test(text);
