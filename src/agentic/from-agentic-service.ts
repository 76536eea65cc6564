import {
  abortSignalOf,
  type Bag,
  type CallOptions,
  type Clock,
  EngineError,
  type Json,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  type Viewer,
} from "../contract/index.ts";
import { changedLists, checkJson, checkName, dotted, joinName, type Names, sameJson } from "../source/index.ts";
import type { Action, AgenticService } from "./agentic-service.ts";
import { Mirror, type Mirrored } from "./mirror.ts";
import { type Signature, signatureOf } from "./parameters.ts";
import { isBag, toPlain } from "./plain-json.ts";
import { toJSONSchema } from "./to-json-schema.ts";

export interface AgenticServiceOptions {
  /** The authority of its states' URIs. Default: the service's `serviceName`, else `service`. */
  readonly name?: string;
  /** The scheme of its states' URIs. Default `agentic`. */
  readonly scheme?: string;
  readonly instructions?: string;
  readonly names?: Names;
  readonly clock?: Clock;
  /** How long a list waits for maps that have not come yet. Default 1,000. */
  readonly firstEmissionMs?: number;
  /** Links followed one after the other. Default 4. */
  readonly maxDepth?: number;
  /** Services met in all. Default 64. */
  readonly maxServices?: number;
  /** What text that an action returns means: AgenticService says an error by it, and cannot tell it from data. Default `error`. */
  readonly text?: "error" | "data";
  readonly onFault?: (error: unknown) => void;
}

/** A source that listens to a service until it is disposed of. It has no chain: what it does is written nowhere. */
export interface AgenticSource extends Source, Disposable {}

interface Callable {
  readonly action: Action;
  readonly key: string;
  readonly service: AgenticService;
  readonly signature: Signature;
}

interface View {
  readonly surface: Surface;
  readonly actions: ReadonlyMap<OfferRef, Callable>;
  readonly states: ReadonlyMap<OfferRef, Json>;
}

/**
 * Serves an AgenticService: its actions as tools, its states as resources, its links under prefixes. Every viewer meets
 * the same service.
 */
export function fromAgenticService(service: AgenticService, options: AgenticServiceOptions = {}): AgenticSource {
  return new FromAgenticService(service, options);
}

class FromAgenticService implements AgenticSource {
  readonly instructions?: string;
  readonly #options: AgenticServiceOptions;
  readonly #names: Names;
  readonly #root: string;
  readonly #mirror: Mirror;
  readonly #listeners = new Set<{ readonly dirty: (ref?: OfferRef) => void; readonly only?: OfferRef }>();
  readonly #offers = new WeakMap<Action, { readonly name: string; readonly offer: Offer; readonly signature: Signature }>();
  #view: View = { surface: { catalogue: { tools: [], resources: [], prompts: [] }, off: {} }, actions: new Map(), states: new Map() };
  #stale = true;
  #scheduled = false;
  #closed = false;

  constructor(service: AgenticService, options: AgenticServiceOptions) {
    const { clock = systemClock, firstEmissionMs = 1_000, maxDepth = 4, maxServices = 64, names = dotted } = options;
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.#options = options;
    this.#names = names;
    this.#root = `${options.scheme ?? "agentic"}://${encodeURIComponent(options.name ?? service.serviceName ?? "service")}`;
    this.#mirror = new Mirror(service, { clock, firstEmissionMs, maxDepth, maxServices, onChange: () => this.#changed() });
  }

  async surface(): Promise<Surface> {
    await this.#mirror.ready();
    return this.#refresh().surface;
  }

  async act(_viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    await this.#mirror.ready();
    if (options.signal !== undefined) abortSignalOf(options.signal).throwIfAborted();
    // Of now: an action that was taken away since the list was read would still run, and the service would not say so.
    const view = this.#refresh();
    const state = view.states.get(ref);
    if (state !== undefined) return { ok: state };
    const callable = view.actions.get(ref);
    if (callable === undefined) return { refused: { code: "UNKNOWN", message: "There is nothing of this name now." } };
    const given = isBag(args) ? args : {};
    // The service checks nothing itself.
    const checked = checkJson(callable.signature.inputSchema, given);
    if ("wrong" in checked) return { refused: { code: "INVALID", message: checked.wrong } };
    const reply = await this.#execute(callable, given, ref);
    // C8: what this call changed is flagged before its reply.
    this.#flush();
    return reply;
  }

  watch(_viewer: Viewer, dirty: (ref?: OfferRef) => void, only?: { readonly ref: OfferRef }): () => void {
    // What is true now is what the listener knows: later differences count from here.
    this.#flush();
    const listener = { dirty, ...(only === undefined ? {} : { only: only.ref }) };
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  [Symbol.dispose](): void {
    this.#closed = true;
    this.#mirror.close();
    this.#listeners.clear();
  }

  async #execute({ action, key, service, signature }: Callable, args: Bag, ref: OfferRef): Promise<Reply> {
    const input = signature.input(args);
    try {
      // `service.execute` hands over one input only.
      const result: unknown =
        action.parameters === undefined || input.length === 1 ? await service.execute(key, input[0]) : await action.execute(...input);
      if (typeof result === "string" && this.#options.text !== "data")
        return { refused: { code: "REFUSED", message: result.slice(0, 4_096) } };
      return { ok: toPlain(result ?? null) };
    } catch (cause) {
      throw new EngineError("CRASHED", `${ref} failed: the service threw instead of returning its error as text.`, {
        applied: "unknown",
        cause,
      });
    }
  }

  // Services tell one change many times, with what is not yet consistent between: it is looked at when they are done.
  #changed(): void {
    this.#stale = true;
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (!this.#closed) this.#refresh();
  }

  /** What is now; whoever listens is told of what is different from before. */
  #refresh(): View {
    if (!this.#stale) return this.#view;
    this.#stale = false;
    const before = this.#view;
    const after = this.#build(before);
    this.#view = after;
    const listsChanged = changedLists(before.surface, after.surface, "dynamic").length > 0;
    const changed = [...new Set([...before.states.keys(), ...after.states.keys()])].filter(
      (ref) => !before.states.has(ref) || !after.states.has(ref) || before.states.get(ref) !== after.states.get(ref),
    );
    for (const { dirty, only } of this.#listeners) {
      if (listsChanged && only === undefined) dirty();
      for (const ref of changed) if (only === undefined || only === ref) dirty(ref);
    }
    return after;
  }

  #build(before: View): View {
    const actions = new Map<OfferRef, Callable>();
    const states = new Map<OfferRef, Json>();
    const tools: Offer[] = [];
    const resources: Offer[] = [];
    for (const mirrored of this.#mirror.all()) {
      for (const [key, action] of Object.entries(mirrored.actions))
        this.#guard(() => this.#addAction(mirrored, key, action, tools, actions));
      for (const [key, { schema, value }] of Object.entries(mirrored.states)) {
        this.#guard(() => {
          const name = this.#nameOf("resources", mirrored, key);
          const ref: OfferRef = `resources/${name}`;
          const uri = [this.#root, ...mirrored.path, key].map((segment, i) => (i === 0 ? segment : encodeURIComponent(segment))).join("/");
          resources.push({
            name,
            action: key,
            readOnly: true,
            definition: { ...describeState(schema), uri, mimeType: "application/json" },
          });
          const plain = toPlain(value);
          const known = before.states.get(ref);
          states.set(ref, known !== undefined && sameJson(known, plain) ? known : plain);
        });
      }
    }
    const { catalogue } = before.surface;
    const isSame = sameJson(shape(catalogue.tools), shape(tools)) && sameJson(shape(catalogue.resources), shape(resources));
    return { surface: isSame ? before.surface : { catalogue: { tools, resources, prompts: [] }, off: {} }, actions, states };
  }

  #addAction(mirrored: Mirrored, key: string, action: Action, tools: Offer[], actions: Map<OfferRef, Callable>): void {
    const name = this.#nameOf("tools", mirrored, key);
    let made = this.#offers.get(action);
    if (made === undefined || made.name !== name) {
      const signature = signatureOf(action);
      const definition = { description: action.description ?? key, inputSchema: signature.inputSchema };
      made = { name, signature, offer: { name, action: key, readOnly: false, definition } };
      this.#offers.set(action, made);
    }
    tools.push(made.offer);
    actions.set(`tools/${name}`, { action, key, service: mirrored.service, signature: made.signature });
  }

  #nameOf(list: "tools" | "resources", { path }: Mirrored, key: string): string {
    const name = [...path, key].reduceRight((inner, outer) => joinName(this.#names, outer, inner));
    checkName(this.#names, list, name, "An AgenticService");
    return name;
  }

  // One name that clients refuse must not take away all others.
  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#options.onFault?.(error);
    }
  }
}

function shape(offers: readonly Offer[]): readonly unknown[] {
  return offers.map(({ name, definition }) => [name, definition]);
}

function describeState(schema: unknown): { readonly title?: string; readonly description?: string } {
  const { title, description } = toJSONSchema(schema);
  return { ...(typeof title === "string" ? { title } : {}), ...(typeof description === "string" ? { description } : {}) };
}
