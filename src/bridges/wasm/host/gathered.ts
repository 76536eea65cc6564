import type { ActorId, Json, Outgoing, Reply } from "../../../core/contract/index.ts";
import type { ChannelEnd } from "../guest-state.ts";

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
