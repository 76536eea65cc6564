import { hash } from "node:crypto";
import type { ActorId, Json, Outgoing, Reply } from "../../../core/contract/index.ts";
import type { ChannelEnd } from "../guest-state.ts";
import type { ImportResult } from "./values.ts";

/**
 * What a call leaves with its commit (C5), and what has become of children and channels meanwhile.
 * `born`, `ended` and `opened` are done already: they hold even where the call fails.
 */
export class CallEffects {
  readonly sends: Outgoing[] = [];
  readonly emits: Json[] = [];
  /** To requests that were to be answered later, by their ids. */
  readonly answers = new Map<string, Reply>();
  readonly opened = new Map<string, ChannelEnd>();
  /** Asked for, whatever was answered, if anything was. */
  readonly attempted = { channels: new Map<string, ChannelEnd>(), children: new Set<ActorId>() };
  readonly closed = new Set<string>();
  /** By their UUIDs. */
  readonly spawned = new Map<string, ActorId>();
  readonly stopped = new Set<string>();
  /** It wants to end with this call. */
  shutdown: { readonly data: Uint8Array | undefined } | undefined;
  #derivedIds = 0;
  #requests = 0;

  /** Numbers what this call derives from its seed. */
  nextDerived(): number {
    return this.#derivedIds++;
  }

  /** Numbers the requests of this try. */
  nextRequest(): number {
    return this.#requests++;
  }
}

interface CachedRequest {
  readonly name: string;
  readonly data: Uint8Array;
  readonly given: Promise<ImportResult>;
}

/** The requests of one call: tried again after its worker died, it makes the same ones, and is given what they were answered. */
export class RequestCache {
  readonly #requests: CachedRequest[] = [];

  /** `n`: the which of this try. */
  once(n: number, name: string, data: Uint8Array, ask: () => Promise<ImportResult>): Promise<ImportResult> {
    const before = this.#requests[n];
    if (before !== undefined && before.name === name && Buffer.compare(before.data, data) === 0) return before.given;
    const given = before === undefined ? ask() : ask().then((one) => ({ ...one, lasting: true }));
    this.#requests[n] = { name, data, given };
    return given;
  }
}

/** Ids that follow from a message's seed: work that runs again makes the same ones. 64 hex digits. */
export const deriveId = (seed: string, what: string, n: number): string => hash("sha256", `${seed}:${what}:${n}`, "hex");

export function deriveUuid(seed: string, what: string, n: number): string {
  const hex = deriveId(seed, what, n);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
export const isUuid = (text: string): boolean => UUID.test(text);
