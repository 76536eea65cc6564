// Owns: several sources shown as one. Does not own: prefixes (prefix.ts), or what a source offers.

import {
  type Bag,
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
import { joinInstructions, describeSource, sourceWords } from "./source-description.ts";
import { LISTS, offersOf, unknownOffer } from "./offers.ts";
import { uriOf } from "./names.ts";
import { hasOwn, MultiMap } from "../../core/contract/internal.ts";

/**
 * Several sources as one. Two offers of one name or one URI are an error naming both sources (`NAME_COLLISION`), thrown
 * where they first meet: from `surface`; but for what is `shared`. A call goes to the source that knows the name now. A source that cannot say what it
 * offers takes nothing else with it: its fault is in the catalogue's `missing`, unless no source offers anything.
 */
export function merge(...sources: readonly Source[]): Source {
  const [only] = sources;
  if (sources.length === 1 && only !== undefined) return only;
  const source = new Merged(sources);
  describeSource(source, sources.map(sourceWords).join(" with "));
  return source;
}

/** Viewers of all kinds that a catalogue known ahead may tell apart. */
const ANYBODY: readonly Viewer[] = [{ scopes: [] }, { principal: "anybody", scopes: [] }];

/** Throws the `NAME_COLLISION` that a merge of these would throw at its first viewer, as far as their catalogues are known ahead. */
export function checkNames(...sources: readonly Source[]): void {
  const merged = new Merged(sources);
  for (const viewer of ANYBODY) merged.join(viewer);
}

interface Joined {
  /** In the order of the sources; undefined: of one that cannot say. */
  readonly parts: readonly (Catalogue | undefined)[];
  readonly faults: readonly TroupeError[];
  readonly catalogue: Catalogue;
}

class Merged implements Source {
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
    return answers.every(isHere) ? this.#surfaceOf(viewer, answers) : this.#surfaceLate(viewer, answers);
  }

  async #surfaceLate(viewer: Viewer, answers: readonly (Said | Promise<Said>)[]): Promise<Surface> {
    return this.#surfaceOf(viewer, await Promise.all(answers.map(async (answer) => answer)));
  }

  #surfaceOf(viewer: Viewer, answers: readonly Said[]): Surface {
    const clash = answers.find(isClash);
    if (clash !== undefined) throw clash;
    const parts = answers.map((answer) => (answer instanceof TroupeError ? undefined : answer));
    const faults = answers.filter((answer) => answer instanceof TroupeError);
    this.#unavailable.shown(viewer, faults.length);
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
      // What is offered beside one that cannot be asked shall not wait for it: what is found without it is called at once.
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

  /** First the source known to have the name, then one after the other: who does not know it does nothing. */
  actNow(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const owner = this.#sources.find((source) => {
      const catalogue = source.catalogue?.(viewer);
      return catalogue !== undefined && offersOf(catalogue).has(ref);
    });
    if (owner === undefined) return this.#actAmong(this.#sources, viewer, ref, args, options);
    const orAnother = (reply: Reply): Reply | Promise<Reply> => {
      if (!isUnknown(reply)) return reply;
      const others = this.#sources.filter((source) => source !== owner);
      return this.#actAmong(others, viewer, ref, args, options);
    };
    const reply = owner.actNow?.(viewer, ref, args, options) ?? owner.act(viewer, ref, args, options);
    return reply instanceof Promise ? reply.then(orAnother) : orAnother(reply);
  }

  async #actAmong(sources: readonly Source[], viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    let last: Reply = unknownOffer;
    const faults: unknown[] = [];
    for (const source of sources) {
      try {
        const reply = await source.act(viewer, ref, args, options);
        if (!isUnknown(reply)) return reply;
        last = reply;
      } catch (error) {
        // It may be another's: this one could not even say.
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
    return last;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void {
    // What one source shows is not what all of them do.
    const heard = (ref?: OfferRef): void => dirty(ref);
    const undos: (() => void)[] = [];
    const undo = (): void => {
      for (const one of undos) one();
    };
    try {
      for (const source of this.#sources) undos.push(source.watch(viewer, heard, only, contents));
    } catch (error) {
      // Nobody gets what would end those before it.
      undo();
      throw error;
    }
    if (only === undefined) undos.push(this.#unavailable.watch(viewer, dirty));
    return undo;
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: Bag): Promise<readonly string[]> {
    for (const source of this.#sources) {
      const values = (await source.complete?.(viewer, ref, argument, value, others)) ?? [];
      if (values.length > 0) return values;
    }
    return [];
  }

  #ask(source: Source, at: number, viewer: Viewer): Said | Promise<Said> {
    try {
      const surface = source.surface(viewer);
      if (surface instanceof Promise) return this.#hear(source, at, surface);
      this.#unavailable.up(source);
      return surface;
    } catch (error) {
      return this.#silent(source, at, error);
    }
  }

  async #hear(source: Source, at: number, late: Promise<Surface>): Promise<Said> {
    try {
      const surface = await late;
      this.#unavailable.up(source);
      return surface;
    } catch (error) {
      return this.#silent(source, at, error);
    }
  }

  #silent(source: Source, at: number, error: unknown): TroupeError {
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
    // The same parts are the same object: what is listed of it is found again. A few viewers may share a first part.
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
    // Also an empty one says something: that this part's catalogue is not known ahead.
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

/** A fault takes nothing else with it, but two names that meet. */
type Said = Surface | TroupeError;

/** A source that cannot say ahead says it, or its fault, to whoever asks. */
function knownOf(source: Source, viewer: Viewer): Catalogue | undefined {
  try {
    return source.catalogue?.(viewer);
  } catch {
    return undefined;
  }
}

const isHere = (answer: Said | Promise<Said>): answer is Said => !(answer instanceof Promise);
const isClash = (error: unknown): error is TroupeError => error instanceof TroupeError && error.code === "NAME_COLLISION";
const isUnknown = (reply: Reply): boolean => hasOwn(reply, "refused") && reply.refused.code === "UNKNOWN";

const EMPTY: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };

function sameParts<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

type Notify = () => void;

/** The sources whose last request for their offers failed, and the viewers that were shown less for it. */
class UnavailableSources {
  readonly #faults = new Map<Source, TroupeError>();
  readonly #watchers = new MultiMap<string, Notify>();
  /** How many sources were missing in what it was shown last. */
  readonly #short = new Map<Notify, number>();

  /** Undefined: it could say, or was never asked. */
  fault(source: Source): TroupeError | undefined {
    return this.#faults.get(source);
  }

  /** The same fault again is the same object: what hangs on it is kept. */
  add(source: Source, fault: TroupeError): TroupeError {
    const known = this.#faults.get(source);
    if (known !== undefined && known.code === fault.code && known.message === fault.message) return known;
    this.#faults.set(source, fault);
    return fault;
  }

  up(source: Source): void {
    this.#faults.delete(source);
  }

  /** A source that is there again need not say so itself: who was shown less is told to look. */
  shown(viewer: Viewer, missing: number): void {
    if (missing === 0 && this.#short.size === 0) return;
    for (const dirty of this.#watchers.get(keyOf(viewer)) ?? []) {
      const before = this.#short.get(dirty) ?? 0;
      if (missing === 0) this.#short.delete(dirty);
      else this.#short.set(dirty, missing);
      if (missing < before) dirty();
    }
  }

  watch(viewer: Viewer, notify: Notify): () => void {
    const key = keyOf(viewer);
    // Its own, whoever else gave the same function.
    const dirty: Notify = () => notify();
    this.#watchers.put(key, dirty);
    return () => {
      this.#short.delete(dirty);
      this.#watchers.take(key, dirty);
    };
  }
}

const keyOf = ({ principal, scopes }: Viewer): string => JSON.stringify([principal ?? null, scopes]);
