import type { ActorId, CallOptions, Json, OfferRef, Reply, Source, Viewer } from "../../core/contract/index.ts";
import { kindOf } from "../../core/contract/internal.ts";
import { cast, type CastOptions } from "./cast.ts";
import { offersOf } from "./refs.ts";
import { unknownOffer } from "./refused.ts";

/**
 * Acts as one actor or another: by what each offers itself, and by what it is offered through its links as they are now. For doors
 * that name actors by their ids; who may act as whom, the door knows.
 */
export class Acting {
  readonly #options: Omit<CastOptions, "as">;
  /** By kind: each is a plan of its own, so that kinds whose names meet do not meet here. */
  readonly #casts = new Map<string, Source>();

  constructor(options: Omit<CastOptions, "as">) {
    this.#options = options;
  }

  /** False: whatever becomes of that actor, it is never offered this. Throws what `cast` throws, like `act`. */
  mayOffer(self: ActorId, ref: OfferRef): boolean {
    const source = this.#castOf(self);
    if (source === undefined) return false;
    const catalogue = source.catalogue?.({ self, scopes: [] });
    return catalogue === undefined || offersOf(catalogue).has(ref);
  }

  /** Refuses with `UNKNOWN` what this actor is not offered, with `SCOPE` what the viewer's token does not allow. */
  async act(self: ActorId, viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    const source = this.#castOf(self);
    if (source === undefined) return unknownOffer;
    return source.act({ ...viewer, self }, ref, args, options);
  }

  #castOf(self: ActorId): Source | undefined {
    const as = kindOf(self);
    const known = this.#casts.get(as);
    if (known !== undefined || !this.#options.kinds.some(({ kind }) => kind === as)) return known;
    const made = cast({ ...this.#options, as });
    this.#casts.set(as, made);
    return made;
  }
}
