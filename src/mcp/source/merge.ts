// Owns: several sources joined into one. Does not own: prefixes (prefix.ts), or what a source offers.

import {
  type JsonObject,
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  EngineError,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { andThen, hasOwn, MultiMap } from "../../core/contract/internal.ts";
import { unknownOffer } from "./actor-access.ts";
import { describeSource, joinInstructions, LISTS, offersOf, sourceWords, uriOf } from "./names.ts";

/**
 * Several sources as one. `surface` throws `NAME_COLLISION`, naming both sources, where two offers that are not `shared` have the same
 * name or URI. A call goes to the source that has the name now. If a source fails to say what it offers, its fault is in the catalogue's
 * `missing` and the others work; `surface` throws it only where none offers anything.
 */
export function merge(...sources: readonly Source[]): Source {
  const [only] = sources;
  if (sources.length === 1 && only !== undefined) return only;
  const source = new MergedSource(sources);
  describeSource(source, sources.map(sourceWords).join(" with "));
  return source;
}

/** One viewer of each sort that a catalogue known ahead may distinguish. */
const ANY_VIEWERS: readonly Viewer[] = [{ scopes: [] }, { principal: "anyone", scopes: [] }];

/** Throws the `NAME_COLLISION` that a merge of these would throw at its first use, as far as their catalogues are known ahead. */
export function checkNames(...sources: readonly Source[]): void {
  const merged = new MergedSource(sources);
  for (const viewer of ANY_VIEWERS) merged.join(viewer);
}

interface Joined {
  /** In the order of the sources; undefined: the source failed. */
  readonly parts: readonly (Catalogue | undefined)[];
  readonly faults: readonly TroupeError[];
  readonly catalogue: Catalogue;
}

class MergedSource implements Source {
  readonly #sources: readonly Source[];
  readonly #unavailable = new UnavailableSources();
  readonly #catalogues: Joined[] = [];
  readonly #surfaces = new WeakMap<Surface, { readonly parts: readonly (Surface | undefined)[]; readonly surface: Surface }[]>();

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
  }

  get instructions(): string | undefined {
    return joinInstructions(this.#sources);
  }

  surface(viewer: Viewer): Surface | Promise<Surface> {
    const answers = this.#sources.map((source, at) => this.#ask(source, at, viewer));
    return answers.every(isHere) ? this.#surfaceOf(viewer, answers) : this.#surfaceLater(viewer, answers);
  }

  async #surfaceLater(viewer: Viewer, answers: readonly (Answer | Promise<Answer>)[]): Promise<Surface> {
    return this.#surfaceOf(viewer, await Promise.all(answers.map(async (answer) => answer)));
  }

  #surfaceOf(viewer: Viewer, answers: readonly Answer[]): Surface {
    const clash = answers.find(isClash);
    if (clash !== undefined) throw clash;
    const parts = answers.map((answer) => (answer instanceof TroupeError ? undefined : answer));
    const faults = answers.filter((answer) => answer instanceof TroupeError);
    this.#unavailable.noteMissing(viewer, faults.length);
    const surface = this.#joined(parts, faults);
    const [fault] = faults;
    if (fault !== undefined && LISTS.every((list) => surface.catalogue[list].length === 0)) throw fault;
    return surface;
  }

  catalogue(viewer: Viewer): Catalogue | undefined {
    const parts: (Catalogue | undefined)[] = [];
    const faults: TroupeError[] = [];
    for (const source of this.#sources) {
      const part = source.catalogue?.(viewer);
      // An unavailable source delays no call to the others.
      const fault = part === undefined ? this.#unavailable.fault(source) : undefined;
      if (part === undefined && fault === undefined) return undefined;
      parts.push(part);
      if (fault !== undefined) faults.push(fault);
    }
    return this.#joinCatalogues(parts, faults);
  }

  /** What is known now of each, joined. Throws `NAME_COLLISION` only. */
  join(viewer: Viewer): Catalogue {
    return this.#joinCatalogues(
      this.#sources.map((source) => knownOf(source, viewer)),
      [],
    );
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.actNow(viewer, ref, args, options);
  }

  /** Tries the source that is known to have the name, then the others in order: one without it does nothing. */
  actNow(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const owner = this.#sources.find((source) => {
      const catalogue = source.catalogue?.(viewer);
      return catalogue !== undefined && offersOf(catalogue).has(ref);
    });
    if (owner === undefined) return this.#actAmong(this.#sources, viewer, ref, args, options);
    return andThen(owner.actNow?.(viewer, ref, args, options) ?? owner.act(viewer, ref, args, options), (reply) => {
      if (!isUnknown(reply)) return reply;
      const others = this.#sources.filter((source) => source !== owner);
      return this.#actAmong(others, viewer, ref, args, options, reply);
    });
  }

  /** `owned`: what a source that has the offer replied, which then is the answer if no other knows it. */
  async #actAmong(
    sources: readonly Source[],
    viewer: Viewer,
    ref: OfferRef,
    args: Json,
    options: CallOptions,
    owned?: Reply,
  ): Promise<Reply> {
    let last: Reply = unknownOffer;
    const unknowing: Source[] = [];
    const faults: unknown[] = [];
    for (const source of sources) {
      try {
        const reply = await source.act(viewer, ref, args, options);
        if (!isUnknown(reply)) return reply;
        last = reply;
        unknowing.push(source);
      } catch (error) {
        // It may be another source's offer: this one could not say.
        faults.push(error);
      }
    }
    if (owned !== undefined) return owned;
    if (faults.length > 0 && !(await anyOffers(unknowing, viewer, ref))) throw faults[0];
    return last;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void {
    // Without `surfaceNow`, which is one source's surface and not the merged one.
    const onDirty = (ref?: OfferRef): void => dirty(ref);
    const undos: (() => void)[] = [];
    const undo = (): void => {
      for (const one of undos) one();
    };
    try {
      for (const source of this.#sources) undos.push(source.watch(viewer, onDirty, only, contents));
    } catch (error) {
      // The caller gets no undo for those before it.
      undo();
      throw error;
    }
    if (only === undefined) undos.push(this.#unavailable.watch(viewer, dirty));
    return undo;
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: JsonObject): Promise<readonly string[]> {
    const unknowing: Source[] = [];
    const faults: unknown[] = [];
    for (const source of this.#sources) {
      try {
        const values = (await source.complete?.(viewer, ref, argument, value, others)) ?? [];
        if (values.length > 0) return values;
        unknowing.push(source);
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0 && !(await anyOffers(unknowing, viewer, ref))) throw faults[0];
    return [];
  }

  #ask(source: Source, at: number, viewer: Viewer): Answer | Promise<Answer> {
    try {
      const surface = source.surface(viewer);
      if (surface instanceof Promise) return this.#askLater(source, at, surface);
      this.#unavailable.up(source);
      return surface;
    } catch (error) {
      return this.#failed(source, at, error);
    }
  }

  async #askLater(source: Source, at: number, pending: Promise<Surface>): Promise<Answer> {
    try {
      const surface = await pending;
      this.#unavailable.up(source);
      return surface;
    } catch (error) {
      return this.#failed(source, at, error);
    }
  }

  #failed(source: Source, at: number, error: unknown): TroupeError {
    if (isClash(error)) return error;
    const words = `${sourceWords(source, at)} cannot say what it offers`;
    const fault = error instanceof TroupeError ? error : new EngineError("CRASHED", `${words}.`, { cause: error });
    return this.#unavailable.add(source, fault);
  }

  #joined(parts: readonly (Surface | undefined)[], faults: readonly TroupeError[]): Surface {
    const first = parts.find((part) => part !== undefined);
    if (first === undefined) return EMPTY;
    if (faults.length > 0) return this.#join(parts, faults);
    const known = this.#surfaces.get(first) ?? [];
    const found = known.find((one) => sameParts(one.parts, parts));
    if (found !== undefined) return found.surface;
    const surface = this.#join(parts, faults);
    // The same parts give the same object, so its lists are found again. Several viewers may share the first part.
    this.#surfaces.set(first, [{ parts, surface }, ...known].slice(0, 16));
    return surface;
  }

  #join(parts: readonly (Surface | undefined)[], faults: readonly TroupeError[]): Surface {
    const catalogue = this.#joinCatalogues(
      parts.map((part) => part?.catalogue),
      faults,
    );
    const off = Object.assign({}, ...parts.map((part) => part?.off));
    const choices = Object.assign({}, ...parts.map((part) => part?.choices));
    const links = Object.assign({}, ...parts.map((part) => part?.links));
    // Also an empty one counts: it means that this part's catalogue is not known ahead.
    const open = parts.some((part) => part?.links !== undefined);
    return {
      catalogue,
      off,
      ...(Object.keys(choices).length === 0 ? {} : { choices }),
      ...(open ? { links } : {}),
    };
  }

  #joinCatalogues(parts: readonly (Catalogue | undefined)[], faults: readonly TroupeError[]): Catalogue {
    const known = this.#catalogues.find((one) => sameParts(one.parts, parts) && sameParts(one.faults, faults));
    if (known !== undefined) return known.catalogue;
    const lists: Record<ListName, Offer[]> = { tools: [], resources: [], prompts: [] };
    const taken = new Map<string, number>();
    const shared = new Set<string>();
    for (const [position, part] of parts.entries()) {
      for (const list of LISTS) {
        for (const offer of part?.[list] ?? []) {
          const uri = uriOf(offer.definition);
          if (offer.shared === true) {
            const same = `${list}/${offer.name} ${uri}`;
            if (shared.has(same)) continue;
            shared.add(same);
          }
          this.#take(taken, `${list}/${offer.name}`, position);
          if (uri !== "") this.#take(taken, `the URI ${uri}`, position);
          lists[list].push(offer);
        }
      }
    }
    const missing = [...parts.flatMap((part) => part?.missing ?? []), ...faults];
    const catalogue: Catalogue = {
      tools: Object.freeze(lists.tools),
      resources: Object.freeze(lists.resources),
      prompts: Object.freeze(lists.prompts),
      ...(missing.length === 0 ? {} : { missing: Object.freeze(missing) }),
    };
    this.#catalogues.unshift({ parts, faults, catalogue });
    if (this.#catalogues.length > 64) this.#catalogues.pop();
    return catalogue;
  }

  #take(taken: Map<string, number>, what: string, position: number): void {
    const other = taken.get(what);
    if (other === undefined) {
      taken.set(what, position);
      return;
    }
    const words = (at: number): string => {
      const source = this.#sources[at];
      return source === undefined ? "" : sourceWords(source, at);
    };
    throw new TroupeError(
      "NAME_COLLISION",
      `${what} is offered by ${words(other)} and by ${words(position)}: put one under a prefix with prefix().`,
    );
  }
}

/** Whether one of these has that offer, hidden or not. */
async function anyOffers(sources: readonly Source[], viewer: Viewer, ref: OfferRef): Promise<boolean> {
  for (const source of sources) {
    try {
      const catalogue = source.catalogue?.(viewer) ?? (await source.surface(viewer)).catalogue;
      if (offersOf(catalogue).has(ref)) return true;
    } catch {
      // It is down too.
    }
  }
  return false;
}

/** The surface of a source, or its fault. */
type Answer = Surface | TroupeError;

/** Undefined: not known ahead. A fault is reported when a surface is requested. */
function knownOf(source: Source, viewer: Viewer): Catalogue | undefined {
  try {
    return source.catalogue?.(viewer);
  } catch {
    return undefined;
  }
}

const isHere = (answer: Answer | Promise<Answer>): answer is Answer => !(answer instanceof Promise);
const isClash = (error: unknown): error is TroupeError => error instanceof TroupeError && error.code === "NAME_COLLISION";
const isUnknown = (reply: Reply): boolean => hasOwn(reply, "refused") && reply.refused.code === "UNKNOWN";

const EMPTY: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };

function sameParts<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

type Notify = () => void;

/** The sources whose surface could not be read, and the watchers whose lists are incomplete because of it. */
class UnavailableSources {
  readonly #faults = new Map<Source, TroupeError>();
  readonly #watchers = new MultiMap<string, Notify>();
  /** How many sources were missing from the surface that it last received; absent: none. */
  readonly #missing = new Map<Notify, number>();

  /** Undefined: its last request succeeded, or there was none. */
  fault(source: Source): TroupeError | undefined {
    return this.#faults.get(source);
  }

  /** Returns the fault; an equal one again is the same object, so catalogues with it are found again. */
  add(source: Source, fault: TroupeError): TroupeError {
    const known = this.#faults.get(source);
    if (known !== undefined && known.code === fault.code && known.message === fault.message) return known;
    this.#faults.set(source, fault);
    return fault;
  }

  up(source: Source): void {
    this.#faults.delete(source);
  }

  /** Notifies watchers of this viewer whose last surface missed more sources than now: a source that is available again need not do so itself. */
  noteMissing(viewer: Viewer, missing: number): void {
    if (missing === 0 && this.#missing.size === 0) return;
    for (const dirty of this.#watchers.get(keyOf(viewer)) ?? []) {
      const before = this.#missing.get(dirty) ?? 0;
      if (missing === 0) this.#missing.delete(dirty);
      else this.#missing.set(dirty, missing);
      if (missing < before) dirty();
    }
  }

  watch(viewer: Viewer, notify: Notify): () => void {
    const key = keyOf(viewer);
    // A function of its own, since the same one may be passed twice.
    const dirty: Notify = () => notify();
    this.#watchers.put(key, dirty);
    return () => {
      this.#missing.delete(dirty);
      this.#watchers.take(key, dirty);
    };
  }
}

const keyOf = ({ principal, scopes, claims }: Viewer): string => JSON.stringify([principal ?? null, scopes, claims]);
