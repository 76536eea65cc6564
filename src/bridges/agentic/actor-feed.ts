import {
  type ActorId,
  type JsonObject,
  type Behaviour,
  BLOB,
  EngineError,
  isJsonObject,
  type Json,
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
  safeCall,
  scopesOf,
  withoutId,
} from "../../core/contract/internal.ts";
import { listed, sameJson } from "../../mcp/source/index.ts";
import { fromBase64, fromActor } from "./json-values.ts";
import type { Observe } from "./agentic-service.ts";
import type { ActorRef, VisibleAction, VisibleActor, VisibleState } from "./to-agentic-service.ts";

/** What an actor shows at a time. */
export interface Showing {
  readonly states: { [key: string]: VisibleState };
  readonly actions: { [key: string]: VisibleAction };
  readonly links: { [key: string]: VisibleActor };
}

export interface FeedOptions extends ActorRef {
  readonly viewer: Viewer;
  readonly show: (id: ActorId) => VisibleActor;
}

interface Sight {
  readonly showing: Showing;
  /** What of each part a listener could see changed. */
  readonly print: Readonly<Record<keyof Showing, Json>>;
}

const NOTHING: Sight = { showing: { states: {}, actions: {}, links: {} }, print: { states: {}, actions: {}, links: {} } };
const EMPTY: Surface = { catalogue: { tools: [], resources: [], prompts: [] }, off: {} };

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** Reads one actor while anybody listens, and tells each part when it is another. */
export class ActorFeed {
  readonly #options: FeedOptions;
  readonly #listeners = new Set<(before: Sight | undefined, now: Sight) => void>();
  #unwatch: (() => void) | undefined;
  #sight: Sight | undefined;
  #reading = false;
  #again = false;
  /** Each settles when the actor was read once more. */
  #waiting: (() => void)[] = [];
  #undoRetry: (() => void) | undefined;
  #retryMs = FIRST_RETRY_MS;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  observe<P extends keyof Showing>(part: P): Observe<Showing[P]> {
    return (notify) => {
      const listener = (before: Sight | undefined, now: Sight): void => {
        if (before === undefined || !sameJson(before.print[part], now.print[part])) notify(now.showing[part]);
      };
      this.#listeners.add(listener);
      this.#unwatch ??= this.#options.engine.watch(this.#options.id, () => void this.#read());
      if (this.#sight === undefined) void this.#read();
      else notify(this.#sight.showing[part]);
      return () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size > 0) return;
        this.#unwatch?.();
        this.#unwatch = undefined;
        this.#undoRetry?.();
        // Nobody would be told when it is no longer so.
        this.#sight = undefined;
      };
    };
  }

  /** What can be done now. No view is computed for it. */
  async actions(): Promise<Showing["actions"]> {
    const found = this.#find(await this.#options.engine.read(this.#options.id));
    return found === undefined ? {} : firsts(this.#actionsOf(found));
  }

  // One after the other, and once more when something changed meanwhile: a slow read must not overtake a later one.
  async #read(): Promise<void> {
    this.#again = true;
    if (this.#reading) return;
    this.#reading = true;
    while (this.#again && this.#listeners.size > 0) {
      this.#again = false;
      const waiting = this.#waiting.splice(0);
      try {
        const now = this.#see(await this.#options.engine.read(this.#options.id));
        const before = this.#sight;
        if (this.#unwatch === undefined) continue;
        this.#sight = now;
        this.#undoRetry?.();
        this.#retryMs = FIRST_RETRY_MS;
        for (const listener of this.#listeners) {
          safeCall(
            () => listener(before, now),
            (error) => this.#tell(error),
          );
        }
      } catch (error) {
        this.#tell(error);
        this.#retry();
      } finally {
        for (const settle of waiting) settle();
      }
    }
    this.#reading = false;
    for (const settle of this.#waiting.splice(0)) settle();
  }

  /** Settles when all listeners know what there is now, or it could not be read. */
  async #heard(): Promise<void> {
    if (this.#listeners.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    void this.#read();
    await promise;
  }

  // The actor may not change for long, and until it is read nothing can be done with it.
  #retry(): void {
    const { clock = systemClock } = this.#options;
    this.#undoRetry?.();
    this.#undoRetry = clock.after(this.#retryMs, () => void this.#read());
    this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
  }

  #tell(error: unknown): void {
    safeCall(
      () => this.#options.onFault?.(error),
      () => undefined,
    );
  }

  #see(snapshot: Snapshot | undefined): Sight {
    const { kinds, show } = this.#options;
    const found = this.#find(snapshot);
    if (found === undefined) return NOTHING;
    const links = Object.entries(found.surface.links ?? {}).filter(([, to]) => kinds.some(({ kind }) => kind === kindOf(to)));
    return this.#sightOf(
      this.#statesOf(found),
      this.#actionsOf(found),
      Object.fromEntries(links.map(([prefix, to]) => [prefix === "" ? kindOf(to) : prefix, show(to)])),
      Object.fromEntries(links),
    );
  }

  /** What this viewer finds; undefined: nothing. An offer whose scopes it lacks is not among it, as it can be neither read nor called. */
  #find(snapshot: Snapshot | undefined): Found | undefined {
    const { id, kinds, viewer } = this.#options;
    const behaviour = kinds.find(({ kind }) => kind === kindOf(id));
    if (behaviour === undefined) return undefined;
    if (!isThere(snapshot, viewer)) return this.#notBegun(behaviour, snapshot);
    if (isForeign(snapshot, behaviour)) return undefined;
    const surface = behaviour.surface?.(snapshot.state, viewer, (error) => this.#tell(error)) ?? {
      catalogue: behaviour.catalogue ?? EMPTY.catalogue,
      off: {},
    };
    return { behaviour, state: snapshot.state, surface: permitted(surface, viewer) };
  }

  /** Its first action begins it: what that may be, its kind says. What only reads begins nothing. */
  #notBegun(behaviour: Behaviour, snapshot: Snapshot | undefined): Found | undefined {
    const { start, viewer } = this.#options;
    if (behaviour.catalogue === undefined || start === undefined || snapshot !== undefined) return undefined;
    const tools = behaviour.catalogue.tools.filter(({ readOnly }) => !readOnly);
    return { behaviour, state: null, surface: permitted({ catalogue: { tools, resources: [], prompts: [] }, off: {} }, viewer) };
  }

  #sightOf(
    states: ReadonlyMap<string, readonly [VisibleState, Json]>,
    actions: ReadonlyMap<string, readonly [VisibleAction, Json]>,
    links: Showing["links"],
    ids: JsonObject,
  ): Sight {
    return {
      showing: { states: firsts(states), actions: firsts(actions), links },
      print: { states: seconds(states), actions: seconds(actions), links: ids },
    };
  }

  /** A view that throws takes away its own state only. */
  #statesOf({ behaviour, state, surface }: Found): ReadonlyMap<string, readonly [VisibleState, Json]> {
    const states = new Map<string, readonly [VisibleState, Json]>();
    for (const offer of surface.catalogue.resources) {
      if (surface.off[`resources/${offer.name}`] !== undefined) continue;
      try {
        const shown = this.#stateOf(behaviour, state, offer);
        if (shown !== undefined) states.set(offer.name, shown);
      } catch (error) {
        this.#tell(error);
      }
    }
    return states;
  }

  #stateOf(behaviour: Behaviour, state: unknown, { definition, action }: Offer): readonly [VisibleState, Json] | undefined {
    const { viewer, id, clock = systemClock } = this.#options;
    const uri = definition["uri"] ?? definition["uriTemplate"];
    // What needs to be told which one is no state but a question.
    if (typeof uri !== "string" || /\{(?!alias\})/.test(uri)) return undefined;
    const reply = behaviour.view?.(state, action, {}, viewer, id, clock.now());
    if (reply === undefined || !hasOwn(reply, "ok")) return undefined;
    const { title, description } = definition;
    const { value, type, mimeType = definition["mimeType"] } = shownOf(reply.ok);
    const schema = {
      ...(typeof title === "string" ? { title } : {}),
      ...(typeof description === "string" ? { description } : {}),
      ...(type === undefined ? {} : { type }),
      ...(typeof mimeType === "string" ? { mediaType: mimeType } : {}),
    };
    return [{ schema, value }, [schema, reply.ok]];
  }

  #actionsOf({ behaviour, surface }: Found): ReadonlyMap<string, readonly [VisibleAction, Json]> {
    const offers = new Map(surface.catalogue.tools.map((offer) => [offer.name, offer]));
    const actions = new Map<string, readonly [VisibleAction, Json]>();
    for (const { name, description, inputSchema } of listed(surface, "dynamic").tools) {
      const offer = offers.get(name);
      if (offer === undefined) continue;
      const parameters = isJsonObject(inputSchema) && !takesNothing(inputSchema) ? [inputSchema] : [];
      const said = typeof description === "string" ? description : name;
      const execute = async (...[input]: readonly unknown[]): Promise<Json | undefined> => {
        const args = parameters.length > 0 && isJsonObject(input) ? input : {};
        return valueOf(await (offer.readOnly ? this.#view(behaviour, offer, args) : this.#call(offer, args)));
      };
      actions.set(name, [{ description: said, parameters, execute }, [said, parameters]]);
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
      // What it says may quote the state: it is for the author, not for who looks.
      this.#tell(cause);
      throw new EngineError("CRASHED", `Looking at ${offer.name} of ${behaviour.kind} failed; nothing was changed.`, { cause });
    }
  }

  async #call(offer: Offer, given: JsonObject): Promise<Reply> {
    const { engine, id, viewer, start } = this.#options;
    const { action } = offer;
    const args = namedArguments(argumentNames(offer), given);
    try {
      const reply = await engine.call({ to: id, action, args, viewer, ...(start === undefined ? {} : { start }) });
      // C8: what the call changed is known before its reply, at least to the one who called.
      await this.#heard();
      return reply;
    } catch (error) {
      throw id !== viewer.self && error instanceof EngineError ? withoutId(error, id, kindOf(id)) : error;
    }
  }
}

/** An actor as this viewer finds it. */
interface Found {
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

/** Whether the state is of newer code, or could not be migrated: none of this code may run on it. */
function isForeign({ version, status }: Snapshot, behaviour: Behaviour): boolean {
  return version !== behaviour.version && (version > behaviour.version || status === "failed");
}

function isThere(snapshot: Snapshot | undefined, { principal }: Viewer): snapshot is Snapshot {
  return snapshot !== undefined && snapshot.status !== "stopped" && (snapshot.owner === undefined || snapshot.owner === principal);
}

const firsts = <T>(map: ReadonlyMap<string, readonly [T, Json]>): { [key: string]: T } =>
  Object.fromEntries([...map].map(([key, [shown]]) => [key, shown]));
const seconds = <T>(map: ReadonlyMap<string, readonly [T, Json]>): JsonObject =>
  Object.fromEntries([...map].map(([key, [, print]]) => [key, print]));

/** A resource's value without what only MCP's resources know: bytes are bytes. */
function shownOf(said: Json): { readonly value: Json | Uint8Array; readonly type?: "blob"; readonly mimeType?: Json | undefined } {
  const text = isJsonObject(said) ? said[BLOB] : undefined;
  const bytes = typeof text === "string" ? fromBase64(text) : undefined;
  if (!isJsonObject(said) || bytes === undefined) return { value: fromActor(said) };
  return { value: bytes, type: "blob", mimeType: said["mimeType"] };
}

const SAYS_NOTHING: ReadonlySet<string> = new Set(["type", "title", "description"]);

// Whoever has a schema that cannot be seen through gets to give arguments: those that are not wanted are refused by the actor itself.
// `properties: {}` alone is what a kind says of a tool without input.
function takesNothing({ properties, additionalProperties = false, ...more }: JsonObject): boolean {
  const isEmpty = isJsonObject(properties) && Object.keys(properties).length === 0 && additionalProperties === false;
  return isEmpty && Object.keys(more).every((keyword) => SAYS_NOTHING.has(keyword));
}

// Text alone would be an error to whoever called.
function valueOf(reply: Reply): Json | undefined {
  if (hasOwn(reply, "refused")) return reply.refused.message;
  if (hasOwn(reply, "needs")) return "This asks the person first, who cannot be asked here: use a client that can ask.";
  if (reply.ok === null) return undefined;
  return typeof reply.ok === "string" ? { text: reply.ok } : fromActor(reply.ok);
}
