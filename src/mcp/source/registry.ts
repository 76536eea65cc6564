// Owns: calls to offers without actors, and notification of their subscribers. Does not own: the offers (registry-index.ts).

import {
  abortSignalOf,
  type Bag,
  type CallOptions,
  type Catalogue,
  type Clock,
  type ContentOf,
  type Dirty,
  EngineError,
  type Json,
  type ListName,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  TroupeError,
  untilAborted,
  type Viewer,
} from "../../core/contract/index.ts";
import { isRefusal, ON_TIMEOUT, Listeners, notify } from "../../core/contract/internal.ts";
import { dotted, type Names } from "./names.ts";
import { contextFor, isNeeds, type Definitions } from "./registry-definitions.ts";
import { RegistryIndex } from "./registry-index.ts";
import type { Handler } from "./registry-entry.ts";
import { Settled, settle } from "./registry-result.ts";
import { refused, unknownOffer } from "./offers.ts";
import { sameJson, check, type Misfit } from "./json.ts";
import { lacksScope, scopeRefusal } from "./access.ts";
import { describeSource } from "./source-description.ts";

export interface RegistryOptions extends Definitions {
  readonly instructions?: string;
  /** How an error calls it. Default "a registry". */
  readonly name?: string;
  readonly names?: Names;
  /** A handler is aborted after this long. Default 60,000. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /**
   * What a watcher threw, or rejected with: the others are told all the same. And `OUT_OF_ORDER`, once of each, for a `when` that threw
   * or gave what it cannot give: its offer is off, the others are at work. Default: nobody is told.
   */
  readonly onFault?: (error: unknown) => void;
}

/** A source without actors: what it does is written in no chain. */
export interface Registry extends Source {
  /** Undefined always: said here so that nobody waits for receipts or history. */
  readonly chain: undefined;
  /** At once: no state is asked. */
  surface(viewer: Viewer): Surface;
  catalogue(viewer: Viewer): Catalogue;
  /** All watchers' lists are dirty. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`. Returns its undo. */
  add(more: Definitions): () => void;
  /** False: there was none. */
  remove(ref: OfferRef): boolean;
  has(ref: OfferRef): boolean;
  /** How many there are, whoever may see them. */
  count(list: ListName): number;
  /** The content of a resource changed: under these template variables, or under any. */
  changed(resource: string, args?: Bag): void;
  /** What a `when` looks at changed. */
  relist(): void;
  /** Aborts every handler that runs: whoever waits for it is told that the server has closed. */
  abandon(): void;
}

/** For who called, which may be a model: nothing of what failed, and what to do now. */
const FAILED =
  "failed inside the server, with arguments that fit. What it did until then may stay: look before you call it again, and if it fails again, tell whoever runs the server.";

interface Listener {
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean;
}

/** Tools, resources and prompts that belong to no actor, static or added and removed while it runs. */
export function registry(options: RegistryOptions): Registry {
  const source = new Listed(options);
  describeSource(source, options.name === undefined ? "a registry" : `the registry ${JSON.stringify(options.name)}`);
  return source;
}

class Listed implements Registry {
  readonly chain = undefined;
  readonly instructions?: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #fault: (error: unknown) => void;
  readonly #listeners = new Listeners<Listener>();
  /** Who listens to one offer's content. */
  readonly #ofContents = new Map<OfferRef, Listeners<Listener>>();
  readonly #index: RegistryIndex;
  readonly #running = new Set<AbortController>();

  constructor(options: RegistryOptions) {
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#clock = options.clock ?? systemClock;
    this.#fault = options.onFault ?? (() => undefined);
    this.#index = new RegistryIndex(options.names ?? dotted, (error) => this.#fault(error));
    this.#index.add(options);
  }

  surface(viewer: Viewer): Surface {
    return this.#index.surface(viewer);
  }

  catalogue(_viewer: Viewer): Catalogue {
    return this.#index.catalogue();
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    const entry = this.#index.entry(ref);
    if (entry === undefined) return unknownOffer;
    const { handler, scopes } = entry;
    const why = this.#index.whyOff(ref, viewer);
    if (why === true) return unknownOffer;
    if (lacksScope(scopes, viewer)) return scopeRefusal(scopes, viewer);
    if (why !== undefined) return refused("NOT_NOW", why);
    const checked = handler.input === undefined ? { value: args } : await check(handler.input, args ?? {}, handler.shown);
    if ("wrong" in checked) return invalid(checked);
    return this.#run(handler, ref, checked.value, viewer, options);
  }

  async #run(handler: Handler, ref: OfferRef, args: unknown, viewer: Viewer, options: CallOptions): Promise<Reply> {
    const timeout = new AbortController();
    this.#running.add(timeout);
    const signal = options.signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, abortSignalOf(options.signal)]);
    const context = contextFor(viewer, signal, options);
    const undo = this.#clock.after(this.#timeoutMs, () => {
      const text = `${ref} took longer than ${this.#timeoutMs} ms and was aborted.`;
      const late = new EngineError("WORK_TIMEOUT", text, { applied: "unknown" });
      timeout.abort(late);
      context[ON_TIMEOUT]?.(late);
    });
    try {
      const returned = await untilAborted(signal, () => handler.run(args, context));
      if (returned instanceof Settled) return { ok: returned.value };
      const made = settle(returned, ref, handler.output);
      return { ok: made instanceof Promise ? await made : made };
    } catch (error) {
      const reply = replyOf(error);
      if (reply !== undefined) return reply;
      if (error instanceof TroupeError && error.code !== "BAD_TURN") throw error;
      if (options.signal?.aborted === true)
        throw new EngineError("CANCELLED", `${ref} was cancelled.`, { applied: "unknown", cause: error });
      throw new EngineError("CRASHED", `${ref} ${FAILED}`, { applied: "unknown", cause: error });
    } finally {
      undo();
      this.#running.delete(timeout);
    }
  }

  abandon(): void {
    const closed = new EngineError("CANCELLED", "The server has closed before this was done.", { applied: "unknown" });
    for (const one of this.#running) one.abort(closed);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    const wanted = only && this.#index.entry(only.ref)?.scopes;
    if (wanted !== undefined && lacksScope(wanted, viewer)) return () => undefined;
    const listener: Listener = { dirty, only, contents };
    if (only === undefined) {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    }
    const { ref } = only;
    const others = this.#ofContents.get(ref) ?? new Listeners();
    this.#ofContents.set(ref, others);
    others.add(listener);
    return () => {
      others.delete(listener);
      if (others.none && this.#ofContents.get(ref) === others) this.#ofContents.delete(ref);
    };
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: Bag): Promise<readonly string[]> {
    const entry = this.#index.entry(ref);
    const complete = entry?.handler.complete;
    if (
      entry === undefined ||
      complete === undefined ||
      lacksScope(entry.scopes, viewer) ||
      !Object.hasOwn(complete, argument) ||
      this.#index.whyOff(ref, viewer) !== undefined
    )
      return [];
    return [...((await complete[argument]?.(value, others, viewer)) ?? [])];
  }

  add(more: Definitions): () => void {
    const added = this.#index.add(more);
    this.#dirty();
    return () => {
      // What was removed since, and is there anew, is somebody else's.
      const removed = added.filter((entry) => this.#index.has(entry) && this.#index.remove(entry.ref));
      if (removed.length > 0) this.#dirty();
    };
  }

  remove(ref: OfferRef): boolean {
    const removed = this.#index.remove(ref);
    if (removed) this.#dirty();
    return removed;
  }

  has(ref: OfferRef): boolean {
    return this.#index.knows(ref);
  }

  count(list: ListName): number {
    return this.#index.count(list);
  }

  relist(): void {
    this.#index.renew();
    this.#dirty();
  }

  changed(resource: string, args?: Bag): void {
    const ref: OfferRef = `resources/${resource}`;
    if (!this.#index.knows(ref))
      throw new TroupeError("BAD_NAME", `There is no resource ${JSON.stringify(resource)} here: name one by its key in \`resources\`.`);
    this.#flag(this.#listeners, ({ contents }) => contents, ref);
    this.#flag(this.#ofContents.get(ref), ({ only }) => args === undefined || sameJson(args, only?.args), ref);
  }

  #dirty(): void {
    this.#flag(this.#listeners, () => true);
  }

  #flag(listeners: Listeners<Listener> | undefined, isMeant: (listener: Listener) => boolean, ref?: OfferRef): void {
    if (listeners === undefined) return;
    const list = listeners.list();
    for (const listener of list) if (listeners.has(listener, list) && isMeant(listener)) notify(listener.dirty, ref, this.#fault);
  }
}

/** Whether a handler's throw is an outcome like any other: a refusal, or what its client is asked first. */
export const isOutcome = (error: unknown): boolean => replyOf(error) !== undefined;

const invalid = ({ wrong, issues }: Misfit): Reply => ({
  refused: { code: "INVALID", message: `Invalid arguments: ${wrong}.`, ...(issues !== undefined && { data: { issues } }) },
});

/** What a handler said by throwing; undefined: it failed. */
function replyOf(error: unknown): Reply | undefined {
  if (isNeeds(error)) return { needs: error.needs };
  if (!isRefusal(error)) return undefined;
  const { code, message, data } = error;
  return { refused: { code, message, ...(data === undefined ? {} : { data }) } };
}
