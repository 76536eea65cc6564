// Owns: the interface of what the gateway serves. Does not own: casts, registries and other sources (mcp/source).

import type { Log, Outgoing, Progress, Reply, Viewer } from "./actor.ts";
import type { Bag, Json } from "./json.ts";
import type { Catalogue, OfferRef, Surface } from "./surface.ts";
import type { CancelSignal } from "./time.ts";

/** Proof of what a call committed: ask any copy of the chain for it later. */
export interface Receipt {
  readonly actor: string;
  readonly seq: number;
  /** The event's id. Of a memory actor it is worked out when it is read: `JSON.stringify` has it, a spread (`{ ...receipt }`) may not. */
  readonly head: string;
}

export interface CallOptions {
  /** Idempotency, scoped to principal and actor; only keyed replies are remembered (C4). */
  readonly key?: string | undefined;
  /** The caller's address, as its transport saw it: tells callers without a principal apart, for their keys and quotas. */
  readonly peer?: string | undefined;
  readonly answers?: Bag | undefined;
  readonly can?: readonly string[] | undefined;
  readonly trace?: Bag | undefined;
  /** An `AbortSignal`, or what tells the same. */
  readonly signal?: CancelSignal | undefined;
  readonly onProgress?: Progress | undefined;
  readonly onLog?: Log | undefined;
  /** After the commit, before the reply; not called when nothing was committed. */
  readonly onReceipt?: ((receipt: Receipt) => void) | undefined;
  /** Sends the message that a call becomes, once access has been checked. Absent: `Engine.call`. */
  readonly deliver?: ((message: Outgoing, options: CallOptions) => Promise<Reply>) | undefined;
}

/** What a viewer is shown at the moment it is asked; undefined: it cannot be said without a look. */
export type Shown = () => Surface | undefined;

/**
 * At most a flag: who listens finds out when it can send (C8) what its viewer is shown. `ref`: that offer's content; without it, the
 * lists. `shown`, where it comes along, says then without a look what is shown; undefined: it cannot any more, and `surface` is asked.
 */
export type Dirty = (ref?: OfferRef, shown?: Shown) => void;

/** One offer under these arguments: a resource whose URI carries a handle is listened to so, since no viewer alone says which it may see. */
export interface ContentOf {
  readonly ref: OfferRef;
  readonly args: Json;
}

/** What the gateway serves: a cast of actors, a registry, an AgenticService, a remote Theater; and merge and prefix of these. */
export interface Source {
  /** Text for the client's model, part of the initialize and discover results. Asked each time: some sources learn theirs. */
  readonly instructions?: string | undefined;
  /** No promise where nothing is waited for: lists are then answered on the spot. */
  surface(viewer: Viewer): Surface | Promise<Surface>;
  /**
   * The catalogue that `surface` would have now, where it is known without looking at any state: a call then finds its
   * offer without a surface being made. Undefined, or absent: only `surface` can say.
   */
  catalogue?(viewer: Viewer): Catalogue | undefined;
  /**
   * A tool call, a resource read (args: the variables of its template) or a prompt.
   * Refusals with a meaning to the gateway: `UNKNOWN` (no such offer for this viewer),
   * `INVALID` (arguments), `INVALID_PARAMS` (the request itself is wrong: an error and no
   * result, of a tool too, with the refusal's data as its own), `URL_ELICITATION` (pages to be opened first, `data.elicitations` as MCP
   * writes them: an error that says so where the client knows it), `SCOPE` (the token lacks `data.scopes`, a list of texts:
   * answered with a challenge). Throws `TroupeError` for faults.
   */
  act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply>;
  /** `act`, answered on the spot where nothing is waited for. Throws where that call would reject at once. Absent: never that quick. */
  actNow?(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Reply | Promise<Reply>;
  /**
   * Tells of what may be stale. `only`: of that content, and not of the lists. `contents` (default true; void with `only`): false where it
   * is the lists alone that are listened to. A source may tell of contents all the same, which takes its time where very many listen.
   * Returns its undo.
   */
  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void;
  /** Values for an argument of a prompt or resource template, beyond the surface's `choices`. */
  complete?(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: Bag): Promise<readonly string[]>;
}
