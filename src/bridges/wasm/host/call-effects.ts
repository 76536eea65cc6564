// Owns: the effects that one call collects until its commit, answers of its requests across retries, and ids derived from its seed.
import { hash } from "node:crypto";
import type { ActorId, Json, Outgoing, Reply } from "../../../core/contract/index.ts";
import type { ChannelEnd } from "../guest-state.ts";
import type { ImportResult } from "../sandbox.ts";

/**
 * What a call leaves with its commit (C5), and what it did to children and channels.
 * `spawned`, `stopped` and `opened` have already happened, so they remain even if the call fails.
 */
export class CallEffects {
  readonly sends: Outgoing[] = [];
  readonly emits: Json[] = [];
  /** Replies to earlier requests, by their ids. */
  readonly answers = new Map<string, Reply>();
  readonly opened = new Map<string, ChannelEnd>();
  /** Requested channels and children, whatever the answer was. */
  readonly attempted = { channels: new Map<string, ChannelEnd>(), children: new Set<ActorId>() };
  readonly closed = new Set<string>();
  /** Ids by UUID. */
  readonly spawned = new Map<string, ActorId>();
  readonly stopped = new Set<string>();
  /** The guest asked to stop after this call. */
  shutdown: { readonly data: Uint8Array | undefined } | undefined;
  #derivedIds = 0;
  #requests = 0;

  /** Counts the ids that this call derives from its seed. */
  nextDerived(): number {
    return this.#derivedIds++;
  }

  /** Counts the requests of this attempt. */
  nextRequest(): number {
    return this.#requests++;
  }
}

interface CachedRequest {
  readonly name: string;
  readonly data: Uint8Array;
  readonly given: Promise<ImportResult>;
}

/** Answers of a call's requests. A retry after a worker died makes the same requests, and gets the same answers. */
export class RequestCache {
  readonly #requests: CachedRequest[] = [];

  /** `n`: the number of the request in this attempt. */
  once(n: number, name: string, data: Uint8Array, ask: () => Promise<ImportResult>): Promise<ImportResult> {
    const before = this.#requests[n];
    if (before !== undefined && before.name === name && Buffer.compare(before.data, data) === 0) return before.given;
    const given = before === undefined ? ask() : ask().then((one) => ({ ...one, lasting: true }));
    this.#requests[n] = { name, data, given };
    return given;
  }
}

/** Derives an id of 64 hex digits from a message's seed. Work that runs again derives the same ids. */
export const deriveId = (seed: string, what: string, n: number): string => hash("sha256", `${seed}:${what}:${n}`, "hex");

export function deriveUuid(seed: string, what: string, n: number): string {
  const hex = deriveId(seed, what, n);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
export const isUuid = (text: string): boolean => UUID.test(text);
