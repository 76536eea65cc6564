// Owns: calls to offers without actors, what they return, and notification of subscribers. Does not own: the offers (registry-entries.ts).

import {
  abortSignalOf,
  BARE_RESULT,
  type CallOptions,
  type Catalogue,
  checkOptions,
  type Clock,
  CONTENT,
  type ContentOf,
  type Dirty,
  EngineError,
  FUNCTION,
  isBareResult,
  isJsonObject,
  isList,
  type Json,
  type JsonObject,
  type ListName,
  type OfferRef,
  type OptionTable,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  TroupeError,
  untilAborted,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  invalidInBlock,
  inWords,
  isContent,
  isRefusal,
  isTexts,
  Listeners,
  memoize,
  notify,
  OBJECT,
  ON_TIMEOUT,
  shapeOf,
  TEXT,
  withTimeout,
} from "../../core/contract/internal.ts";
import { isStandard, type Schema, toJsonSchema } from "../../core/schema/index.ts";
import { lacksScope, refused, scopeRefusal, unknownOffer } from "./actor-access.ts";
import { check, checkJson, type Misfit, sameJson, toJson } from "./json.ts";
import { describeSource, NAMES, type Names, type NameStyle, namesOf } from "./names.ts";
import { contextFor, type Definitions, isNeeds } from "./registry-definitions.ts";
import { type Handler, RegistryIndex } from "./registry-entries.ts";

/** What `registry` takes. */
export interface RegistryOptions extends Definitions {
  readonly instructions?: string;
  /** How an error calls it. Default "a registry". */
  readonly name?: string;
  /** Which names are valid. Default `underscores`. */
  readonly names?: NameStyle | Names;
  /** A handler is aborted after this many milliseconds. Default 55,000, since official clients give a call up after 60,000. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /**
   * Receives what a watcher threw or rejected with; the others are notified all the same. And `OUT_OF_ORDER`, once for each `enabled` that
   * threw or returned something else: its offer is off, the others work. And `WORK_TIMEOUT` and `BAD_TURN` for a `complete` that took too
   * long or returned something else. Default: ignored.
   */
  readonly onFault?: (error: unknown) => void;
}

/** A source without actors. Its calls are not recorded in a chain. */
export interface Registry extends Source {
  /** Always undefined: there are no receipts and no history. */
  readonly chain: undefined;
  /** At once: no state is read. */
  surface(viewer: Viewer): Surface;
  catalogue(viewer: Viewer): Catalogue;
  /** Adds offers and notifies the watchers of lists. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`. Returns its undo. */
  add(more: Definitions): () => void;
  /** False: there was none. */
  remove(ref: OfferRef): boolean;
  has(ref: OfferRef): boolean;
  /** How many there are, visible or not. */
  count(list: ListName): number;
  /** The content of a resource changed: under these template variables, or under any. */
  changed(resource: string, args?: JsonObject): void;
  /** Notifies watchers of lists, after something changed that a `enabled` or `list` reads. */
  relist(): void;
  /** Aborts every running handler. Its callers get the error that the server has closed. */
  abandon(): void;
}

/** For the caller, which may be a model: nothing about the failure itself, and what to do now. */
const FAILED =
  "failed inside the server, with arguments that fit. What it did until then may stay: look before you call it again, and if it fails again, report it to the operator of the server.";

interface Listener {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  readonly only: ContentOf | undefined;
  readonly contents: boolean;
}

const OPTIONS: OptionTable<RegistryOptions> = {
  tools: OBJECT,
  resources: OBJECT,
  prompts: OBJECT,
  instructions: TEXT,
  name: TEXT,
  names: NAMES,
  timeoutMs: true,
  clock: true,
  onFault: FUNCTION,
};

/** Tools, resources and prompts that belong to no actor, static or added and removed while it runs. */
export function registry(options: RegistryOptions): Registry {
  checkOptions("registry", options, OPTIONS);
  const source = new RegistrySource(options);
  describeSource(source, options.name === undefined ? "a registry" : `the registry ${JSON.stringify(options.name)}`);
  return source;
}

class RegistrySource implements Registry {
  readonly chain = undefined;
  readonly instructions?: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #onFault: (error: unknown) => void;
  readonly #listeners = new Listeners<Listener>();
  /** By the one resource that they subscribe to. */
  readonly #ofContents = new Map<OfferRef, Listeners<Listener>>();
  readonly #index: RegistryIndex;
  readonly #running = new Set<AbortController>();

  constructor(options: RegistryOptions) {
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#timeoutMs = options.timeoutMs ?? 55_000;
    this.#clock = options.clock ?? systemClock;
    this.#onFault = options.onFault ?? (() => undefined);
    this.#index = new RegistryIndex(namesOf(options.names ?? "underscores"), (error) => this.#onFault(error));
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
    const why = this.#index.whyOff(entry, viewer);
    if (why === true) return unknownOffer;
    if (lacksScope(scopes, viewer)) return scopeRefusal(scopes, viewer);
    if (why !== undefined) return refused("NOT_NOW", why);
    const checked = handler.input === undefined ? { value: args } : await check(handler.input, args ?? {}, handler.inputSchema);
    if ("wrong" in checked) return invalid(checked);
    return this.#run(handler, ref, checked.value, viewer, options);
  }

  async #run(handler: Handler, ref: OfferRef, args: unknown, viewer: Viewer, options: CallOptions): Promise<Reply> {
    const timeout = new AbortController();
    this.#running.add(timeout);
    const signal = options.signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, abortSignalOf(options.signal)]);
    const context = contextFor(viewer, signal, options);
    const undo = this.#clock.after(this.#timeoutMs, () => {
      const text = `${ref} took longer than ${inWords(this.#timeoutMs)} and was stopped; what it did until then may stay. Check that first, then call again, with less to do at once if you can.`;
      const timedOut = new EngineError("WORK_TIMEOUT", text, { applied: "unknown" });
      timeout.abort(timedOut);
      context[ON_TIMEOUT]?.(timedOut);
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
    const listener: Listener = { viewer, dirty, only, contents };
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

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: JsonObject): Promise<readonly string[]> {
    const entry = this.#index.entry(ref);
    const complete = entry?.handler.complete;
    if (
      entry === undefined ||
      complete === undefined ||
      lacksScope(entry.scopes, viewer) ||
      !Object.hasOwn(complete, argument) ||
      this.#index.whyOff(entry, viewer) !== undefined
    )
      return [];
    // An async function, so that a synchronous error is a rejection, too.
    const run = async (): Promise<unknown> => (await complete[argument]?.({ value, args: others, viewer })) ?? [];
    const what = `What completes ${argument} of ${ref}`;
    try {
      const values = await withTimeout(this.#clock, this.#timeoutMs, run(), () => {
        const timedOut = new EngineError("WORK_TIMEOUT", `${what} took longer than ${inWords(this.#timeoutMs)}.`);
        this.#onFault(timedOut);
        throw timedOut;
      });
      if (isTexts(values)) return [...values];
      this.#onFault(new TroupeError("BAD_TURN", `${what} gave ${shapeOf(values)}, which no client can read: return a list of texts.`));
      return [];
    } catch (error) {
      // Nothing is suggested to whom the author refuses it.
      if (isRefusal(error)) return [];
      throw error;
    }
  }

  add(more: Definitions): () => void {
    const added = this.#index.add(more);
    this.#notifyLists();
    return () => {
      // Not what has been removed and added again since.
      const removed = added.filter((entry) => this.#index.entry(entry.ref) === entry && this.#index.remove(entry.ref));
      if (removed.length > 0) this.#notifyLists();
    };
  }

  remove(ref: OfferRef): boolean {
    const removed = this.#index.remove(ref);
    if (removed) this.#notifyLists();
    return removed;
  }

  has(ref: OfferRef): boolean {
    return this.#index.entry(ref) !== undefined;
  }

  count(list: ListName): number {
    return this.#index.count(list);
  }

  relist(): void {
    this.#index.renew();
    this.#notifyLists();
  }

  changed(resource: string, args?: JsonObject): void {
    const ref: OfferRef = `resources/${resource}`;
    const entry = this.#index.entry(ref);
    if (entry === undefined)
      throw new TroupeError("BAD_NAME", `There is no resource ${JSON.stringify(resource)} here: name one by its key in \`resources\`.`);
    // C8: whom it is hidden from hears nothing of it.
    const isVisible = ({ viewer }: Listener): boolean => this.#index.whyOff(entry, viewer) !== true;
    this.#notify(this.#listeners, (one) => one.contents && isVisible(one), ref);
    this.#notify(this.#ofContents.get(ref), (one) => (args === undefined || sameJson(args, one.only?.args)) && isVisible(one), ref);
  }

  #notifyLists(): void {
    this.#notify(this.#listeners, () => true);
  }

  #notify(listeners: Listeners<Listener> | undefined, isConcerned: (listener: Listener) => boolean, ref?: OfferRef): void {
    if (listeners === undefined) return;
    const list = listeners.list();
    for (const listener of list) if (listeners.has(listener, list) && isConcerned(listener)) notify(listener.dirty, ref, this.#onFault);
  }
}

const NOTHING: readonly Json[] = [];

/** A result that its handler has already settled, to learn what is wrong with it. */
export class Settled {
  readonly value: Json;
  constructor(value: Json) {
    this.value = value;
  }
}

/**
 * What a handler returned, as its callers get it: JSON, as made by the tool's `output`. Throws `STATE_NOT_JSON`, and `BAD_TURN` for what
 * no client can read; neither quotes a value.
 */
export function settle(value: unknown, ref: string, output?: Schema): Json | Promise<Json> {
  const where = `What ${ref} returned`;
  if (typeof value === "object" && value !== null && ref.startsWith("tools/") && isBareResult(value))
    throw new TroupeError("BAD_TURN", `${where} ${BARE_RESULT}.`);
  if (output !== undefined) return fitting(value, where, output).then((made) => readable(made, ref, where));
  return readable(toJson(value, where), ref, where);
}

/** Checks the blocks of a result: clients refuse all of it over one that they cannot read. */
function readable(made: Json, ref: string, where: string): Json {
  if (!isJsonObject(made)) return made;
  if (isContent(made) && made["isError"] === true && !ref.startsWith("tools/"))
    throw new TroupeError("BAD_TURN", `${where} is a failure(), which only a tool's client sees as one: throw refuse("…") instead.`);
  for (const [at, block] of blocksIn(made, ref).entries()) {
    const wrong = isJsonObject(block) ? invalidInBlock(block) : undefined;
    if (wrong !== undefined)
      throw new TroupeError("BAD_TURN", `${where} has a block no client can read, /${at}: ${wrong}. Make blocks with text(), image(), ….`);
  }
  return made;
}

function blocksIn(made: JsonObject, ref: string): readonly Json[] {
  if (isContent(made)) return made[CONTENT];
  const { messages } = made;
  if (!isList(messages) || !ref.startsWith("prompts/")) return NOTHING;
  return messages.map((one) => (isJsonObject(one) ? (one["content"] ?? null) : null));
}

async function fitting(value: unknown, where: string, output: Schema): Promise<Json> {
  if (!isContent(value)) return toJson(await fitted(value, where, output), where);
  if (value["isError"] === true) return toJson(value, where);
  return toJson({ ...value, structured: await fitted(value["structured"], where, output) }, where);
}

// Once for each schema: to write and compile it takes some milliseconds.
const allowsNull = memoize((output: Schema): boolean => !("wrong" in checkJson(toJsonSchema(output, "output", "`output`"), null)));

async function fitted(value: unknown, where: string, output: Schema): Promise<unknown> {
  // A library's own schema may take more than JSON, and make JSON of it.
  const checked = await check(output, isStandard(output) ? value : toJson(value, where));
  if ("wrong" in checked) throw new TroupeError("BAD_TURN", `${where} is not its \`output\`: ${checked.wrong}.`);
  // JSON has no `undefined`: clients get null, and refuse a result that is not of the JSON Schema they have.
  if (checked.value === undefined && !allowsNull(output))
    throw new TroupeError("BAD_TURN", `${where} is not its \`output\`: it is undefined, which JSON does not have.`);
  return checked.value;
}

/** Whether what a handler threw is a normal outcome: a refusal, or questions to the client. */
export const isOutcome = (error: unknown): boolean => replyOf(error) !== undefined;

const invalid = ({ wrong, issues }: Misfit): Reply => ({
  refused: { code: "INVALID", message: `Invalid arguments: ${wrong}.`, ...(issues !== undefined && { data: { issues } }) },
});

/** The reply that a handler made by throwing; undefined: it failed. */
function replyOf(error: unknown): Reply | undefined {
  if (isNeeds(error)) return { needs: error.needs };
  if (!isRefusal(error)) return undefined;
  const { code, message, data } = error;
  return { refused: { code, message, ...(data === undefined ? {} : { data }) } };
}
