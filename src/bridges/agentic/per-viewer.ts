// Owns: a source with a service per viewer: when services are made, shared and released. Does not own: serving one (service-source.ts).
import {
  type CallOptions,
  type ContentOf,
  type Dirty,
  EngineError,
  isSignedIn,
  type Json,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  type Viewer,
} from "../../core/contract/index.ts";
import { inWords, MultiMap, withTimeout } from "../../core/contract/internal.ts";
import type { AgenticService } from "./agentic-service.ts";
import { FaultReporter } from "./service-faults.ts";
import type { AgenticServiceOptions } from "./service-options.ts";
import { CALL_MS, ServiceSource, UNKNOWN } from "./service-source.ts";

/** The service of a viewer; undefined: none. Called once per principal, scopes and claims, and again after `idleMs` without use. */
export type ServiceFor = (viewer: Viewer) => AgenticService | undefined | Promise<AgenticService | undefined>;

/** Options of `fromAgenticService` with a service per viewer. */
export interface PerViewerOptions extends AgenticServiceOptions {
  /** After so long without a call or a listener, in milliseconds, a viewer's service is released. Default 30 minutes. */
  readonly idleMs?: number;
  /**
   * The most services that are not used. Beyond that, the one unused for longest is released, first of viewers who have not signed in.
   * Default 1,000.
   */
  readonly maxIdle?: number;
  /** Called when a service is released. */
  readonly onRelease?: (service: AgenticService) => void;
}

interface ViewerService {
  readonly source: Promise<ServiceSource | undefined>;
  /** Running calls, and listeners. */
  users: number;
  undoIdle: (() => void) | undefined;
}

/** A listener outlives the service it is attached to: its viewer may get another one meanwhile. */
interface Listener {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean | undefined;
  viewerService: ViewerService | undefined;
  undo: (() => void) | undefined;
}

const NO_SURFACE: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {}, links: {} };

/** A source with a service per viewer, made by a factory. Viewers without a principal share one if their scopes are equal. */
export class PerViewer implements Source, Disposable {
  readonly instructions?: string;
  readonly #factory: ServiceFor;
  readonly #options: PerViewerOptions;
  readonly #byViewer = new Map<string, ViewerService>();
  /** The keys of those that are not used, and whether their viewers have signed in; the one unused for longest first. */
  readonly #idle = new Map<string, boolean>();
  readonly #listeners = new MultiMap<string, Listener>();
  readonly #faults: FaultReporter;
  /** How many viewers use each service. The factory may return one again, say for another token of a principal. */
  readonly #services = new Map<AgenticService, number>();
  /** Calls of the factory that have not ended. Any of them may return a service that is unused now. */
  #factoryCalls = 0;
  readonly #unused = new Set<AgenticService>();
  #closed = false;

  constructor(factory: ServiceFor, options: PerViewerOptions) {
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#factory = factory;
    this.#options = options;
    this.#faults = new FaultReporter(options.onFault);
  }

  surface(viewer: Viewer): Promise<Surface> {
    return this.#use(viewer, async (source) => source?.surface() ?? NO_SURFACE);
  }

  act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.#use(viewer, async (source) => source?.act(viewer, ref, args, options) ?? UNKNOWN);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void {
    const key = keyOf(viewer);
    const listener: Listener = { viewer, dirty, only, contents, viewerService: undefined, undo: undefined };
    const viewerService = this.#serviceFor(viewer);
    this.#listeners.put(key, listener);
    this.#listen(listener, viewerService, false);
    return () => {
      if (this.#listeners.get(key)?.has(listener) !== true) return;
      this.#listeners.take(key, listener);
      listener.undo?.();
      if (listener.viewerService !== undefined) this.#leave(viewer, listener.viewerService);
    };
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.#closed = true;
    for (const viewerService of this.#byViewer.values()) this.#release(viewerService);
    this.#byViewer.clear();
    this.#idle.clear();
    this.#listeners.clear();
  }

  async #use<T>(viewer: Viewer, run: (source: ServiceSource | undefined) => Promise<T>): Promise<T> {
    const viewerService = this.#serviceFor(viewer);
    viewerService.users += 1;
    try {
      return await run(await viewerService.source);
    } finally {
      this.#leave(viewer, viewerService);
    }
  }

  #serviceFor(viewer: Viewer): ViewerService {
    const key = keyOf(viewer);
    const known = this.#byViewer.get(key);
    if (known !== undefined) {
      this.#endIdle(key, known);
      return known;
    }
    const viewerService: ViewerService = { source: this.#createSource(viewer), users: 0, undoIdle: undefined };
    if (!this.#closed) this.#byViewer.set(key, viewerService);
    viewerService.source.catch((error: unknown) => {
      // The next call tries again.
      this.#remove(key, viewerService);
      this.#faults.report(error);
    });
    // Listeners that exist already were attached to a service that could not be made.
    for (const listener of this.#listeners.get(key) ?? []) this.#listen(listener, viewerService, true);
    return viewerService;
  }

  /** Attaches a listener. `isNew`: an earlier attempt to make the service failed, so its existence is a change to report. */
  #listen(listener: Listener, viewerService: ViewerService, isNew: boolean): void {
    const { viewer, dirty, only, contents } = listener;
    listener.viewerService = viewerService;
    viewerService.users += 1;
    const listen = async (): Promise<void> => {
      const source = await viewerService.source;
      if (this.#listeners.get(keyOf(viewer))?.has(listener) !== true) return;
      listener.undo = source?.watch(viewer, dirty, only, contents);
      if (isNew && source !== undefined) dirty(only?.ref);
    };
    listen().catch(() => {
      if (listener.viewerService === viewerService) listener.viewerService = undefined;
    });
  }

  async #createSource(viewer: Viewer): Promise<ServiceSource | undefined> {
    const service = this.#closed ? undefined : await this.#createService(viewer);
    return service === undefined ? undefined : new ServiceSource(service, this.#options);
  }

  /** Throws `WORK_TIMEOUT` if the factory has not ended in time. A service that it returns afterwards is released at once. */
  async #createService(viewer: Viewer): Promise<AgenticService | undefined> {
    const { clock = systemClock, callMs = CALL_MS } = this.#options;
    const created = this.#callFactory(viewer);
    if (!Number.isFinite(callMs)) return created;
    let isOver = false;
    const release = (service: AgenticService | undefined): void => {
      if (isOver && service !== undefined) this.#releaseUse(service);
    };
    created.then(release).catch((error: unknown) => isOver && this.#faults.report(error));
    return withTimeout(clock, callMs, created, () => {
      isOver = true;
      throw new EngineError("WORK_TIMEOUT", `The service was not there within ${inWords(callMs)}: try again.`);
    });
  }

  async #callFactory(viewer: Viewer): Promise<AgenticService | undefined> {
    this.#factoryCalls += 1;
    try {
      const service = await this.#factory(viewer);
      if (service !== undefined) this.#services.set(service, (this.#services.get(service) ?? 0) + 1);
      return service;
    } finally {
      this.#factoryCalls -= 1;
      this.#releaseUnused();
    }
  }

  /** One viewer no longer uses the service. */
  #releaseUse(service: AgenticService): void {
    const left = (this.#services.get(service) ?? 1) - 1;
    if (left > 0) this.#services.set(service, left);
    else {
      this.#services.delete(service);
      this.#unused.add(service);
      this.#releaseUnused();
    }
  }

  #releaseUnused(): void {
    if (this.#factoryCalls > 0) return;
    for (const service of this.#unused) {
      this.#unused.delete(service);
      if (this.#services.has(service)) continue;
      try {
        this.#options.onRelease?.(service);
      } catch (error) {
        this.#faults.report(error);
      }
    }
  }

  #leave(viewer: Viewer, viewerService: ViewerService): void {
    viewerService.users -= 1;
    const key = keyOf(viewer);
    // A service that could not be made has been removed from the map.
    if (viewerService.users > 0 || this.#byViewer.get(key) !== viewerService) return;
    const { clock = systemClock, idleMs = 30 * 60_000, maxIdle = 1_000 } = this.#options;
    viewerService.undoIdle = clock.after(idleMs, () => this.#drop(key));
    this.#idle.set(key, isSignedIn(viewer));
    // Anonymous callers may open ever new sessions, each of which is a viewer.
    if (this.#idle.size <= maxIdle) return;
    const idle = [...this.#idle];
    const [longest = key] = idle.find(([, hasSignedIn]) => !hasSignedIn) ?? idle[0] ?? [];
    this.#drop(longest);
  }

  #drop(key: string): void {
    const viewerService = this.#byViewer.get(key);
    if (viewerService === undefined) return;
    this.#remove(key, viewerService);
    this.#release(viewerService);
  }

  #remove(key: string, viewerService: ViewerService): void {
    if (this.#byViewer.get(key) !== viewerService) return;
    this.#byViewer.delete(key);
    this.#endIdle(key, viewerService);
  }

  #endIdle(key: string, viewerService: ViewerService): void {
    viewerService.undoIdle?.();
    viewerService.undoIdle = undefined;
    this.#idle.delete(key);
  }

  #release(viewerService: ViewerService): void {
    viewerService.undoIdle?.();
    const close = async (): Promise<void> => {
      const source = await viewerService.source;
      if (source === undefined) return;
      source[Symbol.dispose]();
      this.#releaseUse(source.service);
    };
    close().catch((error: unknown) => this.#faults.report(error));
  }
}

// Scopes and claims too: what a service offers may depend on them.
const keyOf = ({ principal, scopes, claims }: Viewer): string => JSON.stringify([principal ?? null, claims ?? null, ...scopes.toSorted()]);
