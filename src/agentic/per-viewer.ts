import type { CallOptions, ContentOf, Dirty, Json, OfferRef, Reply, Source, Surface, Viewer } from "../contract/index.ts";
import { systemClock } from "../contract/index.ts";
import type { AgenticService } from "./agentic-service.ts";
import type { AgenticServiceOptions } from "./options.ts";
import { ServiceSource } from "./service-source.ts";

/** The service a viewer meets; undefined: none. Asked once per principal, and again after the viewer was away for long. */
export type ServiceFor = (viewer: Viewer) => AgenticService | undefined | Promise<AgenticService | undefined>;

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

const NOTHING: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {}, links: {} };
const UNKNOWN: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name now." } };

/** For each viewer the service a factory gives for it. Those whom nobody knows (no principal) meet the same one. */
export class PerViewer implements Source, Disposable {
  readonly instructions?: string;
  readonly #make: ServiceFor;
  readonly #options: PerViewerOptions;
  readonly #met = new Map<string, Met>();
  #closed = false;

  constructor(make: ServiceFor, options: PerViewerOptions) {
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#make = make;
    this.#options = options;
  }

  surface(viewer: Viewer): Promise<Surface> {
    return this.#use(viewer, async (source) => source?.surface() ?? NOTHING);
  }

  act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.#use(viewer, async (source) => source?.act(viewer, ref, args, options) ?? UNKNOWN);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void {
    const met = this.#meet(viewer);
    met.users += 1;
    const heard: { undo?: (() => void) | undefined; over: boolean } = { over: false };
    const listen = async (): Promise<void> => {
      const source = await met.source;
      if (!heard.over) heard.undo = source?.watch(viewer, dirty, only, contents);
    };
    // Whoever asks for the surface hears of it.
    listen().catch(() => undefined);
    return () => {
      if (heard.over) return;
      heard.over = true;
      heard.undo?.();
      this.#leave(viewer, met);
    };
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    for (const met of this.#met.values()) this.#release(met);
    this.#met.clear();
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
    let met = this.#met.get(key);
    if (met === undefined) {
      met = { source: this.#open(viewer), users: 0, undoIdle: undefined };
      if (!this.#closed) this.#met.set(key, met);
      // The next to ask tries again.
      met.source.catch(() => this.#met.delete(key));
    }
    met.undoIdle?.();
    met.undoIdle = undefined;
    return met;
  }

  async #open(viewer: Viewer): Promise<ServiceSource | undefined> {
    const service = this.#closed ? undefined : await this.#make(viewer);
    return service === undefined ? undefined : new ServiceSource(service, this.#options);
  }

  #leave(viewer: Viewer, met: Met): void {
    met.users -= 1;
    if (met.users > 0 || this.#closed) return;
    const { clock = systemClock, idleMs = 30 * 60_000 } = this.#options;
    met.undoIdle = clock.after(idleMs, () => {
      if (this.#met.get(keyOf(viewer)) === met) this.#met.delete(keyOf(viewer));
      this.#release(met);
    });
  }

  #release(met: Met): void {
    met.undoIdle?.();
    const close = async (): Promise<void> => {
      const source = await met.source;
      if (source === undefined) return;
      source[Symbol.dispose]();
      this.#options.onRelease?.(source.service);
    };
    close().catch((error: unknown) => this.#options.onFault?.(error));
  }
}

const keyOf = ({ principal }: Viewer): string => (principal === undefined ? "nobody" : `known ${principal}`);
