// Owns: reading one actor for its service: its states, actions and links, while it is observed. Does not own: the service object
// (to-agentic-service.ts).
import {
  type ActorId,
  type Behaviour,
  BLOB,
  EngineError,
  isJsonObject,
  type Json,
  type JsonObject,
  type Offer,
  type Reply,
  type Snapshot,
  type Surface,
  systemClock,
  type Viewer,
} from "../../core/contract/index.ts";
import {
  argumentNames,
  hasOwn,
  invalidMessageReply,
  kindOf,
  missingScopes,
  namedArguments,
  omitUndefined,
  safeCall,
  scopesOf,
  withoutId,
} from "../../core/contract/internal.ts";
import { listed, sameJson } from "../../mcp/source/index.ts";
import type { Observe } from "./agentic-service.ts";
import { fromBase64, trustContent } from "./json-values.ts";
import type { ActorRef, VisibleAction, VisibleActor, VisibleState } from "./to-agentic-service.ts";

/** What a viewer can see of an actor at one time. */
interface ActorView {
  readonly states: { [key: string]: VisibleState };
  readonly actions: { [key: string]: VisibleAction };
  readonly links: { [key: string]: VisibleActor };
}

interface FeedOptions extends ActorRef {
  readonly viewer: Viewer;
  readonly serviceOf: (id: ActorId) => VisibleActor;
}

interface ViewSnapshot {
  readonly view: ActorView;
  /** Per part, what a change is noticed by: values contain functions, which cannot be compared. */
  readonly fingerprint: Readonly<Record<keyof ActorView, Json>>;
}

const NO_VIEW: ViewSnapshot = { view: { states: {}, actions: {}, links: {} }, fingerprint: { states: {}, actions: {}, links: {} } };
const NO_OFFERS: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/** Reads one actor while it has listeners, and notifies those of a part when it has changed. */
export class ActorFeed {
  readonly #options: FeedOptions;
  readonly #listeners = new Set<(before: ViewSnapshot | undefined, now: ViewSnapshot) => void>();
  #unwatch: (() => void) | undefined;
  #current: ViewSnapshot | undefined;
  #reading = false;
  #again = false;
  /** Called after the next read. */
  #waiting: (() => void)[] = [];
  #undoRetry: (() => void) | undefined;
  #retryMs = FIRST_RETRY_MS;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  observe<P extends keyof ActorView>(part: P): Observe<ActorView[P]> {
    return (notify) => {
      const listener = (before: ViewSnapshot | undefined, now: ViewSnapshot): void => {
        if (before === undefined || !sameJson(before.fingerprint[part], now.fingerprint[part])) notify(now.view[part]);
      };
      this.#listeners.add(listener);
      this.#unwatch ??= this.#options.engine.watch(this.#options.id, () => void this.#read());
      if (this.#current === undefined) void this.#read();
      else notify(this.#current.view[part]);
      return () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size > 0) return;
        this.#unwatch?.();
        this.#unwatch = undefined;
        this.#undoRetry?.();
        // It would become outdated unnoticed.
        this.#current = undefined;
      };
    };
  }

  /** The actions available now, without computing views. */
  async actions(): Promise<ActorView["actions"]> {
    const found = this.#find(await this.#options.engine.read(this.#options.id));
    return found === undefined ? {} : valuesIn(this.#actionsOf(found));
  }

  // One read at a time, and another one if something changed meanwhile: a slow read must not replace the result of a later one.
  async #read(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    while (this.#again && this.#listeners.size > 0) {
      this.#again = false;
      const waiting = this.#waiting.splice(0);
      try {
        const now = this.#takeSnapshot(await this.#options.engine.read(this.#options.id));
        const before = this.#current;
        if (this.#unwatch === undefined) continue;
        this.#current = now;
        this.#undoRetry?.();
        this.#retryMs = FIRST_RETRY_MS;
        for (const listener of this.#listeners) {
          safeCall(
            () => listener(before, now),
            (error) => this.#report(error),
          );
        }
      } catch (error) {
        this.#report(error);
        this.#retry();
      } finally {
        for (const settle of waiting) settle();
      }
    }
    this.#reading = false;
    for (const settle of this.#waiting.splice(0)) settle();
  }

  /** Settles when all listeners have been notified of the current state, or it could not be read. */
  async #refreshed(): Promise<void> {
    if (this.#listeners.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    void this.#read();
    await promise;
  }

  // The actor may not change for a long time, and has no actions until it has been read.
  #retry(): void {
    const { clock = systemClock } = this.#options;
    this.#undoRetry?.();
    this.#undoRetry = clock.after(this.#retryMs, () => void this.#read());
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
  }

  #report(error: unknown): void {
    safeCall(
      () => this.#options.onFault?.(error),
      () => undefined,
    );
  }

  #takeSnapshot(snapshot: Snapshot | undefined): ViewSnapshot {
    const { kinds, serviceOf } = this.#options;
    const found = this.#find(snapshot);
    if (found === undefined) return NO_VIEW;
    const links = Object.entries(found.surface.links ?? {}).filter(([, to]) => kinds.some(({ kind }) => kind === kindOf(to)));
    const states = this.#statesOf(found);
    const actions = this.#actionsOf(found);
    const linked = Object.fromEntries(links.map(([prefix, to]) => [prefix === "" ? kindOf(to) : prefix, serviceOf(to)]));
    return {
      view: { states: valuesIn(states), actions: valuesIn(actions), links: linked },
      fingerprint: { states: fingerprintsIn(states), actions: fingerprintsIn(actions), links: Object.fromEntries(links) },
    };
  }

  /** The actor as this viewer may use it: without offers whose scopes it lacks. Undefined: it may not. */
  #find(snapshot: Snapshot | undefined): ReadActor | undefined {
    const { id, kinds, viewer } = this.#options;
    const behaviour = kinds.find(({ kind }) => kind === kindOf(id));
    if (behaviour === undefined) return undefined;
    if (!isAvailable(snapshot, viewer)) return this.#notStarted(behaviour, snapshot);
    if (isUnreadable(snapshot, behaviour)) return undefined;
    const surface = behaviour.surface?.(snapshot.state, viewer, (error) => this.#report(error)) ?? {
      catalogue: behaviour.catalogue ?? NO_OFFERS.catalogue,
      off: {},
    };
    return { behaviour, state: snapshot.state, surface: permitted(surface, viewer) };
  }

  /** An actor that its first action starts. Read-only tools do not start it. */
  #notStarted(behaviour: Behaviour, snapshot: Snapshot | undefined): ReadActor | undefined {
    const { start, viewer } = this.#options;
    if (behaviour.catalogue === undefined || start === undefined || snapshot !== undefined) return undefined;
    const tools = behaviour.catalogue.tools.filter(({ readOnly }) => !readOnly);
    return { behaviour, state: null, surface: permitted({ catalogue: { tools, resources: [], prompts: [] }, off: {} }, viewer) };
  }

  /** A view that throws loses only its own state. */
  #statesOf({ behaviour, state, surface }: ReadActor): ReadonlyMap<string, readonly [VisibleState, Json]> {
    const states = new Map<string, readonly [VisibleState, Json]>();
    for (const offer of surface.catalogue.resources) {
      if (surface.off[`resources/${offer.name}`] !== undefined) continue;
      try {
        const value = this.#stateOf(behaviour, state, offer);
        if (value !== undefined) states.set(offer.name, value);
      } catch (error) {
        this.#report(error);
      }
    }
    return states;
  }

  #stateOf(behaviour: Behaviour, state: unknown, { definition, action }: Offer): readonly [VisibleState, Json] | undefined {
    const { viewer, id, clock = systemClock } = this.#options;
    const uri = definition["uri"] ?? definition["uriTemplate"];
    // A resource template with variables is not a state.
    if (typeof uri !== "string" || /\{(?!alias\})/.test(uri)) return undefined;
    const reply = behaviour.view?.(state, action, {}, viewer, id, clock.now());
    if (reply === undefined || !hasOwn(reply, "ok")) return undefined;
    const { title, description } = definition;
    const { value, type, mimeType = definition["mimeType"] } = stateValue(reply.ok);
    const schema = {
      ...(typeof title === "string" && { title }),
      ...(typeof description === "string" && { description }),
      ...omitUndefined({ type }),
      ...(typeof mimeType === "string" && { mediaType: mimeType }),
    };
    return [{ schema, value }, [schema, reply.ok]];
  }

  #actionsOf({ behaviour, surface }: ReadActor): ReadonlyMap<string, readonly [VisibleAction, Json]> {
    const offers = new Map(surface.catalogue.tools.map((offer) => [offer.name, offer]));
    const actions = new Map<string, readonly [VisibleAction, Json]>();
    for (const { name, description, inputSchema } of listed(surface, "dynamic").tools) {
      const offer = offers.get(name);
      if (offer === undefined) continue;
      const parameters = isJsonObject(inputSchema) && !takesNothing(inputSchema) ? [inputSchema] : [];
      const text = typeof description === "string" ? description : name;
      const execute = async (...[input]: readonly unknown[]): Promise<Json | undefined> => {
        const args = parameters.length > 0 && isJsonObject(input) ? input : {};
        return resultOf(await (offer.readOnly ? this.#view(behaviour, offer, args) : this.#call(offer, args)));
      };
      actions.set(name, [{ description: text, parameters, execute }, [text, parameters]]);
    }
    return actions;
  }

  async #view(behaviour: Behaviour, offer: Offer, args: JsonObject): Promise<Reply> {
    const { engine, id, viewer, clock = systemClock } = this.#options;
    const snapshot = await engine.read(id);
    try {
      const reply = snapshot === undefined ? undefined : behaviour.view?.(snapshot.state, offer.action, args, viewer, id, clock.now());
      return reply ?? { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };
    } catch (cause) {
      const refusal = invalidMessageReply(cause, { args });
      if (refusal !== undefined) return refusal;
      if (cause instanceof EngineError) throw cause;
      // The message may quote the state, so it is reported to the author, not to the caller.
      this.#report(cause);
      throw new EngineError("CRASHED", `Looking at ${offer.name} of ${behaviour.kind} failed; nothing was changed.`, { cause });
    }
  }

  async #call(offer: Offer, given: JsonObject): Promise<Reply> {
    const { engine, id, viewer, start } = this.#options;
    const { action } = offer;
    const args = namedArguments(argumentNames(offer), given);
    try {
      const reply = await engine.call({ to: id, action, args, viewer, ...omitUndefined({ start }) });
      // C8: listeners are notified of what the call changed before its reply.
      await this.#refreshed();
      return reply;
    } catch (error) {
      throw id !== viewer.self && error instanceof EngineError ? withoutId(error, id, kindOf(id)) : error;
    }
  }
}

/** An actor as a viewer may use it. */
interface ReadActor {
  readonly behaviour: Behaviour;
  readonly state: unknown;
  readonly surface: Surface;
}

function permitted(surface: Surface, { scopes }: Viewer): Surface {
  const { catalogue } = surface;
  const isPermitted = ({ definition }: Offer): boolean => missingScopes(scopesOf(definition), scopes).length === 0;
  const all = [...catalogue.tools, ...catalogue.resources];
  if (all.every(isPermitted)) return surface;
  const { tools, resources } = catalogue;
  return { ...surface, catalogue: { ...catalogue, tools: tools.filter(isPermitted), resources: resources.filter(isPermitted) } };
}

/** Whether the state is from a newer version, or could not be migrated: this version's code must not run on it. */
function isUnreadable({ version, status }: Snapshot, behaviour: Behaviour): boolean {
  return version !== behaviour.version && (version > behaviour.version || status === "failed");
}

function isAvailable(snapshot: Snapshot | undefined, { principal }: Viewer): snapshot is Snapshot {
  return snapshot !== undefined && snapshot.status !== "stopped" && (snapshot.owner === undefined || snapshot.owner === principal);
}

const valuesIn = <T>(map: ReadonlyMap<string, readonly [T, Json]>): { [key: string]: T } =>
  Object.fromEntries([...map].map(([key, [value]]) => [key, value]));
const fingerprintsIn = <T>(map: ReadonlyMap<string, readonly [T, Json]>): JsonObject =>
  Object.fromEntries([...map].map(([key, [, fingerprint]]) => [key, fingerprint]));

/** The value of a resource as a state: MCP's blobs as bytes. */
function stateValue(value: Json): { readonly value: Json | Uint8Array; readonly type?: "blob"; readonly mimeType?: Json | undefined } {
  const text = isJsonObject(value) ? value[BLOB] : undefined;
  const bytes = typeof text === "string" ? fromBase64(text) : undefined;
  if (!isJsonObject(value) || bytes === undefined) return { value: trustContent(value) };
  return { value: bytes, type: "blob", mimeType: value["mimeType"] };
}

const ANNOTATIONS: ReadonlySet<string> = new Set(["type", "title", "description"]);

// Only for the schema that a kind publishes for a tool without input. With any other schema the actor itself rejects unwanted arguments.
function takesNothing({ properties, additionalProperties = false, ...more }: JsonObject): boolean {
  const isEmpty = isJsonObject(properties) && Object.keys(properties).length === 0 && additionalProperties === false;
  return isEmpty && Object.keys(more).every((keyword) => ANNOTATIONS.has(keyword));
}

// A bare string would be an error to the caller.
function resultOf(reply: Reply): Json | undefined {
  if (hasOwn(reply, "refused")) return reply.refused.message;
  if (hasOwn(reply, "needs")) return "This asks the person first, who cannot be asked here: use a client that can ask.";
  if (reply.ok === null) return undefined;
  return typeof reply.ok === "string" ? { text: reply.ok } : trustContent(reply.ok);
}
