// Owns: a service and its links as a source: its offers, their handlers, and when changes are noticed. Does not own: observing the
// services (service-graph.ts), notifying viewers (subscriber.ts).
import {
  type CallOptions,
  type Clock,
  CONTENT,
  type ContentOf,
  type Dirty,
  EngineError,
  isJsonObject,
  type Json,
  type JsonObject,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { getOwn, hasOwn, isContent, omitUndefined } from "../../core/contract/internal.ts";
import { checkJson, joinName, type Names, namesOf } from "../../mcp/source/index.ts";
import { type Action, type AgenticService, isAgenticService, type State } from "./agentic-service.ts";
import { ChangeWaits, GET_STATE, linksResource, LIST_LINKS, pageTemplate, stateRefsIn } from "./built-in-offers.ts";
import { type Callable, callAction, type CallSettings, DONE } from "./call-action.ts";
import { type Handler, OfferTable } from "./offer-table.ts";
import { parametersOf, type Signature, signatureOf } from "./parameters.ts";
import { FaultReporter } from "./service-faults.ts";
import { type LinkedService, ServiceGraph } from "./service-graph.ts";
import type { AgenticServiceOptions } from "./service-options.ts";
import { contentOf, parsePageId, stateReply, statesReply } from "./state-content.ts";
import { describeState, type EmittedState, nameOf, Revisions, type StateCell, States, type StateSnapshot } from "./states.ts";
import { Subscriber } from "./subscriber.ts";

/** Official clients abandon a call after 60 s. */
export const CALL_MS = 55_000;

export const UNKNOWN: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name now." } };
const OVER = Symbol("The time is over.");
const NO_CELLS: ReadonlyMap<OfferRef, StateCell> = new Map();

/** One service, and those that its links reach, as a source. */
export class ServiceSource implements Source, Disposable {
  readonly instructions?: string;
  readonly service: AgenticService;
  readonly #options: AgenticServiceOptions;
  readonly #clock: Clock;
  readonly #names: Names;
  readonly #settings: CallSettings;
  readonly #root: string;
  readonly #graph: ServiceGraph;
  readonly #firstEmissionMs: number;
  readonly #pageLength: number;
  readonly #waits: ChangeWaits | undefined;
  readonly #revisions: Revisions;
  readonly #states: States;
  readonly #subscribers = new Set<Subscriber>();
  readonly #fault: (error: unknown) => void;
  readonly #signatures = new WeakMap<Action, { readonly parameters: readonly unknown[]; readonly signature: Signature }>();
  #offers: OfferTable;
  #scheduled = false;
  #closed = false;

  constructor(service: AgenticService, options: AgenticServiceOptions) {
    const { clock = systemClock, firstEmissionMs = 1_000, maxDepth = 4, maxServices = 64, names: style = "dots" } = options;
    if (options.instructions !== undefined) this.instructions = options.instructions;
    this.service = service;
    this.#options = options;
    const faults = new FaultReporter(options.onFault);
    this.#fault = (error) => faults.report(error);
    this.#clock = clock;
    const names = namesOf(style);
    this.#names = names;
    this.#root = `mcp://${encodeURIComponent((options.name ?? service.serviceName ?? "service").toWellFormed())}`;
    this.#settings = { clock, callMs: options.callMs ?? CALL_MS, text: options.text ?? "error", root: this.#root };
    this.#firstEmissionMs = firstEmissionMs;
    this.#pageLength = options.pageLength ?? 65_536;
    this.#revisions = new Revisions(clock.now());
    this.#states = new States(this.#revisions);
    const { waitForChange: wait = false } = options;
    if (wait !== false) {
      const maxMs = wait === true ? undefined : wait.maxMs;
      this.#waits = new ChangeWaits({ states: this.#states, clock, maxMs, pageLength: this.#pageLength, wants: this.#isState });
    }
    this.#offers = new OfferTable(names, this.#fault);
    this.#graph = new ServiceGraph(service, {
      clock,
      firstEmissionMs,
      maxDepth,
      maxServices,
      withStates: options.states !== "omit",
      followLinks: options.links !== "list",
      onChange: () => this.#schedule(),
      onFault: this.#fault,
    });
    this.#refresh();
  }

  surface(): Surface | Promise<Surface> {
    const pending = this.#firstEmissions();
    return pending === undefined ? this.#offers.surface : pending.then(() => this.#offers.surface);
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    await this.#firstEmissions();
    if (options.signal?.aborted === true) throw new EngineError("CANCELLED", `${ref} was cancelled before it began.`);
    // An action that was removed since the list was read would still run, and the service would not report it.
    this.#refresh();
    const entry = this.#offers.get(ref);
    if (entry === undefined) return UNKNOWN;
    const given = isJsonObject(args) ? args : {};
    const schema = entry.offer.definition["inputSchema"];
    // Services do not validate.
    const checked = isJsonObject(schema) ? checkJson(schema, given) : { value: given };
    if ("wrong" in checked) return { refused: { code: "INVALID", message: checked.wrong } };
    return entry.handler(viewer, given, options);
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    // The listener is notified of changes relative to the current state.
    this.#refresh();
    const subscriber = new Subscriber({
      viewer,
      dirty,
      only: only?.ref,
      contents,
      intervalMs: this.#options.stateIntervalMs ?? 100,
      clock: this.#clock,
      cells: () => (this.#showsStates || this.#options.links === "list" ? this.#states.cells : NO_CELLS),
    });
    this.#subscribers.add(subscriber);
    return () => {
      subscriber.close();
      this.#subscribers.delete(subscriber);
    };
  }

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    this.#closed = true;
    this.#graph.close();
    this.#offers = new OfferTable(this.#names, this.#fault);
    for (const subscriber of this.#subscribers) subscriber.close();
    this.#subscribers.clear();
    this.#waits?.close();
  }

  get #showsStates(): boolean {
    return (this.#options.states ?? "resources") === "resources";
  }

  /** Settles when every linked service has emitted its maps, or the time for that is over. Undefined: all have. */
  #firstEmissions(): Promise<void> | undefined {
    this.#refresh();
    return this.#graph.unsettled() === undefined ? undefined : this.#withinDeadline();
  }

  // One deadline for all services: a slow service may link to another slow one.
  async #withinDeadline(): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<typeof OVER>();
    const undo = this.#clock.after(this.#firstEmissionMs, () => resolve(OVER));
    let pending = this.#graph.unsettled();
    while (pending !== undefined && !this.#closed) {
      const ended = await Promise.race([timeout, pending]);
      this.#refresh();
      // A service that always links to new ones never settles.
      pending = ended === OVER ? undefined : this.#graph.unsettled();
    }
    undo();
  }

  // Services emit several times per change, with inconsistent intermediate values, so changes are read once they are done.
  #schedule(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      // This has no caller: an error thrown here would end the process.
      this.#guard(() => this.#refresh());
    });
  }

  /** Reads what the services offer now, and notifies subscribers and waiting calls of what changed. */
  #refresh(): void {
    if (this.#closed || !this.#graph.isStale) return;
    const before = this.#offers.surface;
    const offers = this.#buildOffers(this.#graph.reachable());
    this.#offers = offers;
    const changed = offers.surface !== before;
    const { tools } = offers.surface.catalogue;
    if (!sameItems(before.catalogue.tools, tools)) this.#waits?.setTools(tools, this.#revisions.next());
    for (const subscriber of this.#subscribers) subscriber.notify(changed);
    this.#waits?.wake();
  }

  #buildOffers(reachable: readonly LinkedService[]): OfferTable {
    const table = new OfferTable(this.#names, this.#fault, this.#offers);
    const states = this.#options.states ?? "resources";
    const links = this.#options.links ?? "namespaced";
    const emitted = new Map<OfferRef, EmittedState>();
    if (states === "tool") table.add("tools", GET_STATE, (_viewer, args) => this.#getState(args));
    const waits = this.#waits;
    if (waits !== undefined) table.add("tools", waits.offer, (_viewer, args, callOptions) => waits.run(args, callOptions));
    if (links === "list") {
      const ref: OfferRef = "resources/list_links";
      emitted.set(ref, { value: this.#linksOf(reachable) });
      const read: Handler = () => ({ ok: this.#states.cells.get(ref)?.snapshot().json ?? null });
      table.add("tools", LIST_LINKS, read);
      table.add("resources", linksResource(this.#root), read);
    }
    if (states === "resources") table.add("resources", pageTemplate(this.#root), (_viewer, args) => this.#readPage(args));
    for (const { path, observed } of reachable) {
      for (const [key, action] of Object.entries(observed.actions))
        this.#guard(() => this.#addAction(table, path, key, action, observed.service));
      for (const [key, state] of Object.entries(observed.states)) this.#guard(() => this.#addState(table, emitted, path, key, state));
    }
    this.#states.update(emitted);
    return table;
  }

  #addAction(table: OfferTable, path: readonly string[], key: string, action: Action, service: AgenticService): void {
    const options = getOwn(this.#options.actions ?? {}, [...path, key].join("."));
    if (options?.hidden === true || action === undefined || action === null) return;
    if (typeof action.execute !== "function")
      throw new TroupeError("BAD_DEFINITION", `The action ${JSON.stringify(key)} is left out, since it has no function \`execute\`.`);
    const name = this.#nameOf(path, key);
    const signature = this.#signatureOf(action);
    const { title, annotations } = options ?? {};
    const offer: Offer = {
      name,
      action: key,
      readOnly: annotations?.["readOnlyHint"] === true,
      definition: {
        ...omitUndefined({ title }),
        description: typeof action.description === "string" ? action.description.toWellFormed() : key,
        inputSchema: signature.inputSchema,
        ...omitUndefined({ annotations }),
      },
    };
    const callable: Callable = { ref: `tools/${name}`, path, key, action, service, signature, options };
    table.add("tools", offer, (viewer, args, callOptions) => this.#call(viewer, callable, args, callOptions));
  }

  #addState(table: OfferTable, emitted: Map<OfferRef, EmittedState>, path: readonly string[], key: string, { schema, value }: State): void {
    const name = this.#nameOf(path, key);
    const ref: OfferRef = `resources/${name}`;
    if (emitted.has(ref)) throw new TroupeError("NAME_COLLISION", `The state ${name} is there twice: the one nearer to the root is shown.`);
    if (!this.#showsStates) {
      emitted.set(ref, { value });
      return;
    }
    const { title, description, mediaType, mimeType } = describeState(schema);
    const stateDescription = getOwn(this.#options.stateDescriptions ?? {}, [...path, key].join(".")) ?? description;
    const offer: Offer = {
      name,
      action: key,
      readOnly: true,
      definition: {
        ...omitUndefined({ title, description: stateDescription }),
        uri: this.#options.stateUri?.(key, path) ?? [this.#root, ...[...path, "state", key].map(encodeURIComponent)].join("/"),
        mimeType,
      },
    };
    if (table.add("resources", offer, () => this.#readState(ref))) emitted.set(ref, { value, mediaType, mimeType });
  }

  // Cached, since actions are emitted again with every change. Parameters are compared too: an action may be changed in place.
  #signatureOf(action: Action): Signature {
    const parameters = parametersOf(action);
    const known = this.#signatures.get(action);
    if (known !== undefined && sameItems(known.parameters, parameters)) return known.signature;
    const signature = signatureOf(parameters);
    this.#signatures.set(action, { parameters: [...parameters], signature });
    return signature;
  }

  #nameOf(path: readonly string[], key: string): string {
    if (this.#options.links === "flat") return this.#options.flatName?.(key, path) ?? [...path, key].join("_");
    return [...path, key].reduceRight((inner, outer) => joinName(this.#names, outer, inner));
  }

  async #call(viewer: Viewer, callable: Callable, args: JsonObject, options: CallOptions): Promise<Reply> {
    const { changedStates = false } = this.#options;
    const before = changedStates ? this.#states.now() : 0;
    let reply: Reply;
    try {
      reply = await callAction(callable, args, options, this.#settings);
    } finally {
      this.#refresh();
      // C8: the caller is notified of what the call changed before it gets the reply.
      for (const subscriber of this.#subscribers) if (isSame(subscriber.viewer, viewer)) subscriber.flush();
    }
    if (!hasOwn(reply, "ok")) return reply;
    if (!changedStates) return reply.ok === null ? { ok: NULL } : reply;
    const changes = (await this.#states.since(before, () => true, this.#pageLength)) ?? { changed: {} };
    return { ok: withChanges(reply.ok, changes) };
  }

  async #readState(ref: OfferRef): Promise<Reply> {
    const cell = this.#states.cells.get(ref);
    return cell === undefined ? UNKNOWN : stateReply(nameOf(ref), await contentOf(cell, this.#pageLength));
  }

  async #readPage({ page: id }: JsonObject): Promise<Reply> {
    const page = typeof id === "string" ? parsePageId(id) : undefined;
    const cell = page === undefined ? undefined : this.#states.cells.get(`resources/${page.name}`);
    if (page === undefined || cell === undefined) return UNKNOWN;
    const content = await contentOf(cell, this.#pageLength);
    if (content.snapshot.revision !== page.revision)
      return { refused: { code: "NOT_NOW", message: `The state ${page.name} has changed: read it again for its pages of now.` } };
    return content.pages[page.at] ?? UNKNOWN;
  }

  async #getState({ keys }: JsonObject): Promise<Reply> {
    const wanted = stateRefsIn(keys);
    const known = [...this.#states.cells.keys()].filter(this.#isState);
    const missing = [...(wanted ?? [])].filter((ref) => !known.includes(ref)).map(nameOf);
    if (missing.length > 0) return unknownStates(missing, known.map(nameOf));
    const snapshots = [...this.#states.cells].flatMap(([ref, cell]): readonly (readonly [string, StateSnapshot])[] =>
      this.#isState(ref) && (wanted === undefined || wanted.has(ref)) ? [[nameOf(ref), cell.snapshot()]] : [],
    );
    return { ok: await statesReply(snapshots) };
  }

  #linksOf([root]: readonly LinkedService[]): readonly JsonObject[] {
    const links: JsonObject[] = [];
    for (const [key, service] of Object.entries(root?.observed.links ?? {})) {
      this.#guard(() => {
        if (isAgenticService(service)) links.push(this.#linkOf(key, service));
      });
    }
    return links;
  }

  #linkOf(key: string, service: AgenticService): JsonObject {
    const { serviceName } = service;
    const description = getOwn(this.#options.linkDescriptions ?? {}, key);
    const address = this.#options.linkAddress?.(key, service);
    return {
      key,
      ...omitUndefined({ service: serviceName, description, address }),
    };
  }

  // The list of links is stored as a state.
  readonly #isState = (ref: OfferRef): boolean => this.#options.links !== "list" || ref !== "resources/list_links";

  // One invalid name, or one state that throws, must not affect the others.
  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#fault(error);
    }
  }
}

const MOST_NAMED = 50;

const listed = (names: readonly string[]): string =>
  names.slice(0, MOST_NAMED).join(", ") + (names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "");

function unknownStates(missing: readonly string[], known: readonly string[]): Reply {
  const there = known.length === 0 ? "There are no states now" : `The states are ${listed(known)}`;
  return { refused: { code: "INVALID", message: `There is no state ${listed(missing)}. ${there}.` } };
}

const isSame = (a: Viewer, b: Viewer): boolean => a.principal === b.principal && a.self === b.self;

// As a domain value, null means "no result". An action that returned null has a result.
const NULL: Json = { [CONTENT]: [{ type: "text", text: "null" }], structured: null };

/** Content blocks remain blocks: nested in the structured result, clients would not display them. */
function withChanges(result: Json, changes: JsonObject): Json {
  if (result === DONE) return changes;
  if (!isContent(result)) return { result, ...changes };
  const structured = result["structured"] === undefined ? changes : { result: result["structured"], ...changes };
  return { ...result, [CONTENT]: [...result[CONTENT], { type: "text", text: JSON.stringify(structured) }], structured };
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
