/** What passes between folders and is no public name: no subpath leads here. */
import type { Behaviour } from "./actor.ts";

export { compareIds, isActorId, isAddress, keyIn, kindOf } from "./actor-id.ts";
export { capabilityNeeded, EXTENSION, isExtensionMethod } from "./client-capability.ts";
export { DEEPEST, freezeDeep } from "./freeze.ts";
export { type CommitEnds, type HandOver, handOverTo, promising } from "./hand-over.ts";
export { growthBy, SHORT_BYTES, textBytes } from "./growth.ts";
export { LATE, type MayBeLate, whenLate } from "./late.ts";
export { Listeners } from "./listeners.ts";
export { ANNOTATIONS, ARGUMENT, HINTS, ICONS, misfit, OBJECT, SIZE, TEXT, wrongInBlock } from "./mcp-shapes.ts";
export { checkMirrored, type Mirrored, mirroredIn } from "./mirrored.ts";
export { nearest } from "./nearest.ts";
export { checkNeeded } from "./option-checks.ts";
export { put } from "./put.ts";
export { remembering } from "./remembering.ts";
export { checkScopes, isScope, lacking, lacksScopes, needsScopes, scopesOf, withScopes } from "./scopes.ts";
export { tellOf, told } from "./told.ts";
export { hasUriSigns } from "./uri-signs.ts";

/** An object that a draft changed, and where: whoever compares the two need look nowhere else. */
export interface Written {
  readonly before: Readonly<Record<string, unknown>>;
  /** Frozen to the bottom. */
  readonly after: Readonly<Record<string, unknown>>;
  /** By how many bytes its text has grown at most. Undefined: not only texts, numbers, booleans and null were put, in places that were there. */
  readonly growth: number | undefined;
  /** Those that may hold something else, in any order. Undefined: keys came, went or moved, so any of them. */
  readonly keys: readonly string[] | undefined;
  /** What is known of the part that was and is at that key. Undefined: nothing, it was put there. */
  at(key: string, was: unknown, now: unknown): Written | undefined;
}

// One place, not a mark on the state or a table of them: a turn's state is planned right after it was drafted, marks can be
// found and put on other objects, and a table costs every turn. Where another turn came between, all is looked at.
let last: Written | undefined;

/** A draft's word for the state it has made. */
export function vouch(written: Written): void {
  last = written;
}

/** The word for just these two, once; undefined: there is none, and `after` is to be looked at in full. */
export function vouchedFor(before: unknown, after: unknown): Written | undefined {
  const written = last;
  last = undefined;
  return written !== undefined && written.after === after && written.before === before ? written : undefined;
}

// By the function, not by a member of its kind: whoever spreads a kind and gives it another `surface` has none that is constant.
const constant = new WeakSet<object>();

/** Of a `surface` that is the same in every state, for every viewer, and has no links. Gives it back. */
export function constantly<F extends object>(surface: F): F {
  constant.add(surface);
  return surface;
}

/** What the kind shows nothing can change: it need be asked for once only. */
export function isConstant({ surface }: Pick<Behaviour, "surface">): boolean {
  return surface !== undefined && constant.has(surface);
}
