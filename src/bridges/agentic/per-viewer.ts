import type { CallOptions, ContentOf, Dirty, Json, OfferRef, Reply, Source, Surface, Viewer } from "../../core/contract/index.ts";
import { EngineError, systemClock } from "../../core/contract/index.ts";
import { inWords, withTimeout } from "../../core/contract/internal.ts";
import type { AgenticService } from "./agentic-service.ts";
import { Faults } from "./faults.ts";
import type { AgenticServiceOptions } from "./options.ts";
import { CALL_MS, ServiceSource } from "./service-source.ts";

/** The service a viewer meets; undefined: none. Called once per principal, scopes and claims, and again after the viewer was away for long. */
export type ServiceFor = (viewer: Viewer) => AgenticService | undefined | Promise<AgenticService | undefined>;

/** What `fromAgenticService` takes for a service per viewer: the options of one service, and when it ends. */
export interface PerViewerOptions extends AgenticServiceOptions {
  /** A viewer's service is let go when nobody has called or listened for so long. Default 30 minutes. */
  readonly idleMs?: number;
  /** It was let go. */
  readonly onRelease?: (service: AgenticService) => void;
}

interface Met {
  readonly source: Promise<ServiceSource | undefined>;
  /** Calls that run and listeners. */
  users: number;
  undoIdle: (() => void) | undefined;
}

/** Who is told of what changes, for as long as it wants, whichever services its viewer meets meanwhile. */
interface Listener {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean | undefined;
  met: Met | undefined;
  undo: (() => void) | undefined;
}

const NOTHING: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {}, links: {} };
const UNKNOWN: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name now." } };

/** For each viewer the service a factory gives for it. Those without a principal meet the same one if their scopes are the same. */
export class PerViewer implements Source, Disposable {
  readonly instructions?: string;
  readonly #make: ServiceFor;
  readonly #options: PerViewerOptions;
  readonly #met = new Map<string, Met>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #faults: Faults;
  /** How many viewers use each service: the factory may return one again, as for another token of a principal. */
  readonly #services = new Map<AgenticService, number>();
  /** Calls of the factory that have not ended, any of which may return a service that is not in use now. */
  #making = 0;
  readonly #unused = new Set<AgenticService>();
  #closed = false;

  constructor(make: ServiceFor, options: PerViewerOptions) {
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#make = make;
    this.#options = options;
    this.#faults = new Faults(options.onFault);
  }

  surface(viewer: Viewer): Promise<Surface> {
    return this.#use(viewer, async (source) => source?.surface() ?? NOTHING);
  }

  act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.#use(viewer, async (source) => source?.act(viewer, ref, args, options) ?? UNKNOWN);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void {
    const key = keyOf(viewer);
    const listener: Listener = { viewer, dirty, only, contents, met: undefined, undo: undefined };
    const met = this.#meet(viewer);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    this.#listen(listener, met, false);
    return () => {
      if (!listeners.delete(listener)) return;
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
      listener.undo?.();
      if (listener.met !== undefined) this.#leave(viewer, listener.met);
    };
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.#closed = true;
    for (const met of this.#met.values()) this.#release(met);
    this.#met.clear();
    this.#listeners.clear();
  }

  async #use<T>(viewer: Viewer, run: (source: ServiceSource | undefined) => Promise<T>): Promise<T> {
    const met = this.#meet(viewer);
    met.users += 1;
    try {
      return await run(await met.source);
    } finally {
      this.#leave(viewer, met);
    }
  }

  #meet(viewer: Viewer): Met {
    const key = keyOf(viewer);
    const known = this.#met.get(key);
    known?.undoIdle?.();
    if (known !== undefined) {
      known.undoIdle = undefined;
      return known;
    }
    const met: Met = { source: this.#open(viewer), users: 0, undoIdle: undefined };
    if (!this.#closed) this.#met.set(key, met);
    met.source.catch((error: unknown) => {
      // The next to ask tries again.
      if (this.#met.get(key) === met) this.#met.delete(key);
      this.#faults.tell(error);
    });
    // Those who listen already are of a service that could not be made.
    for (const listener of this.#listeners.get(key) ?? []) this.#listen(listener, met, true);
    return met;
  }

  /** What cannot be made is listened to when it is met anew; that it is there then is a change (`isNew`). */
  #listen(listener: Listener, met: Met, isNew: boolean): void {
    const { viewer, dirty, only, contents } = listener;
    listener.met = met;
    met.users += 1;
    const listen = async (): Promise<void> => {
      const source = await met.source;
      if (this.#listeners.get(keyOf(viewer))?.has(listener) !== true) return;
      listener.undo = source?.watch(viewer, dirty, only, contents);
      if (isNew && source !== undefined) dirty(only?.ref);
    };
    listen().catch(() => {
      if (listener.met === met) listener.met = undefined;
    });
  }

  async #open(viewer: Viewer): Promise<ServiceSource | undefined> {
    const service = this.#closed ? undefined : await this.#made(viewer);
    return service === undefined ? undefined : new ServiceSource(service, this.#options);
  }

  /** Throws `WORK_TIMEOUT`: the factory has not ended in time. What it makes afterwards is let go at once, as no one waits for it. */
  async #made(viewer: Viewer): Promise<AgenticService | undefined> {
    const { clock = systemClock, callMs = CALL_MS } = this.#options;
    const making = this.#call(viewer);
    if (!Number.isFinite(callMs)) return making;
    let isOver = false;
    const release = (service: AgenticService | undefined): void => {
      if (isOver && service !== undefined) this.#letGo(service);
    };
    making.then(release).catch((error: unknown) => isOver && this.#faults.tell(error));
    return withTimeout(clock, callMs, making, () => {
      isOver = true;
      throw new EngineError("WORK_TIMEOUT", `The service was not there within ${inWords(callMs)}: try again.`);
    });
  }

  async #call(viewer: Viewer): Promise<AgenticService | undefined> {
    this.#making += 1;
    try {
      const service = await this.#make(viewer);
      if (service !== undefined) this.#services.set(service, (this.#services.get(service) ?? 0) + 1);
      return service;
    } finally {
      this.#making -= 1;
      this.#releaseUnused();
    }
  }

  /** One who was to meet it does not, or no longer. */
  #letGo(service: AgenticService): void {
    const left = (this.#services.get(service) ?? 1) - 1;
    if (left > 0) this.#services.set(service, left);
    else {
      this.#services.delete(service);
      this.#unused.add(service);
      this.#releaseUnused();
    }
  }

  #releaseUnused(): void {
    if (this.#making > 0) return;
    for (const service of this.#unused) {
      this.#unused.delete(service);
      if (this.#services.has(service)) continue;
      try {
        this.#options.onRelease?.(service);
      } catch (error) {
        this.#faults.tell(error);
      }
    }
  }

  #leave(viewer: Viewer, met: Met): void {
    met.users -= 1;
    // One that could not be made is no longer among them.
    if (met.users > 0 || this.#met.get(keyOf(viewer)) !== met) return;
    const { clock = systemClock, idleMs = 30 * 60_000 } = this.#options;
    met.undoIdle = clock.after(idleMs, () => {
      this.#met.delete(keyOf(viewer));
      this.#release(met);
    });
  }

  #release(met: Met): void {
    met.undoIdle?.();
    const close = async (): Promise<void> => {
      const source = await met.source;
      if (source === undefined) return;
      source[Symbol.dispose]();
      this.#letGo(source.service);
    };
    close().catch((error: unknown) => this.#faults.tell(error));
  }
}

// What a service lets its viewer do may depend on the scopes and claims it was made for.
const keyOf = ({ principal, scopes, claims }: Viewer): string => JSON.stringify([principal ?? null, claims ?? null, ...scopes.toSorted()]);
