// Owns: the interface of what the gateway serves, and the options of its calls. Does not own: casts, registries and other sources (mcp/source).

import type { ActorId, Log, Outgoing, Progress, Reply, Viewer } from "./actor.ts";
import type { JsonObject, Json } from "./json.ts";
import type { Catalogue, OfferRef, Surface } from "./surface.ts";
import type { CancelSignal } from "./time.ts";

/** Proof of what a call committed, to be checked later against any copy of the chain. */
export interface Receipt {
  readonly actor: string;
  readonly seq: number;
  /** The event's id. For a memory actor it is computed when read: `JSON.stringify` has it, a spread (`{ ...receipt }`) may not. */
  readonly head: string;
}

/** The time that a call took in the engine, and the actor that handled it. */
export interface Handled {
  readonly actor: ActorId;
  /** In the actor's mailbox, until its turn or work began. */
  readonly waitedMs: number;
  /** Its turn or work, and the commit; not the time until a later turn replies. */
  readonly ranMs: number;
}

/** Options of a call: its key, its deadline and its caller. */
export interface CallOptions {
  /** Idempotency, scoped to principal and actor; only keyed replies are remembered (C4). */
  readonly key?: string | undefined;
  /** The caller's address, as its transport saw it: distinguishes callers without a principal, for their keys and quotas. */
  readonly peer?: string | undefined;
  readonly answers?: JsonObject | undefined;
  /** Only after a reply that was `running`: the errors in place of answers, by key, as JSON-RPC writes them. */
  readonly unanswered?: JsonObject | undefined;
  readonly can?: readonly string[] | undefined;
  readonly trace?: JsonObject | undefined;
  /** An `AbortSignal`, or a signal with the same meaning. */
  readonly signal?: CancelSignal | undefined;
  readonly onProgress?: Progress | undefined;
  readonly onLog?: Log | undefined;
  /** After the commit, before the reply; not called when nothing was committed. */
  readonly onReceipt?: ((receipt: Receipt) => void) | undefined;
  /** After an actor has handled it, before the reply, also if it was refused. Not every engine measures it. */
  readonly onHandled?: ((handled: Handled) => void) | undefined;
  /** Sends the message that a call becomes, once access has been checked. Absent: `Engine.call`. */
  readonly deliver?: ((message: Outgoing, options: CallOptions) => Promise<Reply>) | undefined;
}

/** Options of a call that remember its receipt. */
export class ReceiptRecorder {
  readonly options: CallOptions;
  /** Undefined: nothing was committed, or not yet. */
  receipt: Receipt | undefined;

  constructor(given: CallOptions) {
    this.options = {
      ...given,
      onReceipt: (receipt) => {
        this.receipt = receipt;
        given.onReceipt?.(receipt);
      },
    };
  }
}

/** Returns a viewer's current surface. Undefined: unknown without computing it. */
export type SurfaceNow = () => Surface | undefined;

/**
 * Sets a dirty flag: the listener requests the surface when it can send (C8). `ref`: the content of that offer is stale; without it, the
 * lists are. `surfaceNow`, if given, returns the surface then without computing it, or undefined, and `surface` is called.
 */
export type Dirty = (ref?: OfferRef, surfaceNow?: SurfaceNow) => void;

/**
 * One offer with its arguments: the subject of a subscription to a resource whose URI contains a handle, since the viewer alone does not
 * determine it.
 */
export interface ContentOf {
  readonly ref: OfferRef;
  readonly args: Json;
}

/** What the gateway serves: a cast of actors, a registry, an AgenticService, a remote Theater; and merge and prefix of these. */
export interface Source {
  /** Text for the client's model, part of the initialize and discover results. Read each time, since some sources learn theirs later. */
  readonly instructions?: string | undefined;
  /** Not a promise if nothing is awaited, so that lists are answered synchronously. */
  surface(viewer: Viewer): Surface | Promise<Surface>;
  /**
   * The catalogue that `surface` would have now, if it is known without reading any state: a call then finds its offer without computing a
   * surface. Undefined or absent: only `surface` has it.
   */
  catalogue?(viewer: Viewer): Catalogue | undefined;
  /**
   * A tool call, a resource read (args: the variables of its template) or a prompt.
   * Refusals with a meaning to the gateway: `UNKNOWN` (no such offer for this viewer),
   * `INVALID` (arguments), `INVALID_PARAMS` (the request itself is wrong: an error and no
   * result, of a tool too, with the refusal's data as its own), `URL_ELICITATION` (pages to be opened first, `data.elicitations` as MCP
   * writes them: an error with these for clients that support it), `SCOPE` (the token lacks `data.scopes`, a list of texts:
   * answered with a challenge). Throws `TroupeError` for faults.
   */
  act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply>;
  /** `act`, answered synchronously if nothing is awaited. Throws if that call would reject at once. Absent: never synchronous. */
  actNow?(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Reply | Promise<Reply>;
  /**
   * Calls `dirty` when the lists or a content may be stale. `only`: for that content, not for the lists. `contents` (default true;
   * ignored with `only`): false if the listener needs the lists only; a source may call it for contents all the same. Returns its undo.
   */
  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void;
  /** Values for an argument of a prompt or resource template, beyond the surface's `choices`. */
  complete?(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: JsonObject): Promise<readonly string[]>;
}
