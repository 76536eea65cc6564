// Owns: the registry of capabilities: adding, removing, discovering them, and notification of changes. Does not own: running them
//   (running.ts), planning chains of them (chain-plan.ts).
import { TroupeError, type Behaviour, type Engine } from "../../core/contract/index.ts";
import type { Capability, Given, RunCapability } from "./capability.ts";
import { PacketError } from "./packet.ts";

/** Criteria of a search. All given ones must hold. */
export interface Criteria {
  /** Words; the intent must contain at least one of them. */
  readonly intent?: string;
  /** Fields that the capability requires. */
  readonly requires?: readonly string[];
  /** Fields that the capability provides. */
  readonly provides?: readonly string[];
}

type KindLookup = Pick<Engine, "knows">;

/** The flow that runs the capabilities, and its engine. */
interface Flow {
  readonly engine: KindLookup;
  readonly run: RunCapability;
}

function bind(does: Capability["does"], { run }: Flow): void {
  if (does.how === "actor") does.asks?.bind(run);
}

function checkKind(id: string, kind: string, engine: KindLookup): void {
  if (engine.knows?.(kind) === false)
    throw new TroupeError(
      "BAD_DEFINITION",
      `${id} is an actor of a kind that the engine does not know (${kind}): start the engine with it among its \`kinds\`, and register it then.`,
    );
}

/** Throws `PacketError` (`capability_not_found`). */
export function registeredCapability(capabilities: Capabilities, id: string): Capability {
  const capability = capabilities.get(id);
  if (capability !== undefined) return capability;
  throw new PacketError("capability_not_found", `There is no capability ${JSON.stringify(id)}: list them first.`);
}

/** The registered capabilities, in order of registration. */
export class Capabilities {
  readonly #byId = new Map<string, Capability>();
  readonly #kinds = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  readonly #flows = new Set<Flow>();
  readonly #given: Given;

  /** Actors without a configuration get their own copy with `given` applied: another flow may run the same definition. */
  constructor(capabilities: readonly Capability[] = [], given: Given = {}) {
    this.#given = given;
    this.register(...capabilities);
  }

  /** The kinds of actors that the engine must know. */
  get kinds(): readonly Behaviour[] {
    return this.list().flatMap(({ does }) => (does.how === "actor" ? [does.behaviour] : []));
  }

  /** Registers all or none. Throws `NAME_COLLISION`, and `BAD_DEFINITION` for kinds the engine does not know. Returns its undo. */
  register(...capabilities: readonly Capability[]): () => void {
    const added: Capability[] = [];
    try {
      for (const one of capabilities) {
        const bound = this.#configured(one);
        this.#add(bound);
        added.push(bound);
      }
    } catch (error) {
      for (const { id } of added) this.#remove(id);
      throw error;
    }
    if (added.length > 0) this.#notify();
    return () => {
      // Another capability may have been registered under the same id since.
      for (const one of added) if (this.#byId.get(one.id) === one) this.unregister(one.id);
    };
  }

  /** Removes a capability; its actors stay. Returns false if there is none. */
  unregister(id: string): boolean {
    if (!this.#remove(id)) return false;
    this.#notify();
    return true;
  }

  get(id: string): Capability | undefined {
    return this.#byId.get(id);
  }

  list(): readonly Capability[] {
    return [...this.#byId.values()];
  }

  /** Finds by words of the intent, in any case: one match is enough. Or by criteria, which must all hold. */
  discover(query: string | Criteria): readonly Capability[] {
    const { intent, requires = [], provides = [] } = typeof query === "string" ? { intent: query } : query;
    const words = intent
      ?.toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    return this.list().filter((one) => {
      const intentText = one.intent.toLowerCase();
      return (
        (words === undefined || words.length === 0 || words.some((word) => intentText.includes(word))) &&
        requires.every((field) => one.requires.includes(field)) &&
        provides.every((field) => one.provides.includes(field))
      );
    });
  }

  /** Notifies when capabilities are added or removed. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void {
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /**
   * Binds the capabilities to an engine and to `run`, by which handlers call others. From then on only kinds that the engine knows are
   * accepted. Throws as `register` does. Returns its undo.
   */
  runOn(engine: KindLookup, run: RunCapability): () => void {
    for (const { does, id } of this.list()) if (does.how === "actor") checkKind(id, does.behaviour.kind, engine);
    const flow: Flow = { engine, run };
    this.#flows.add(flow);
    for (const { does } of this.list()) bind(does, flow);
    return () => void this.#flows.delete(flow);
  }

  #configured(capability: Capability): Capability {
    const { does } = capability;
    return does.how === "actor" ? (does.configured?.(this.#given) ?? capability) : capability;
  }

  #add(capability: Capability): void {
    const { id, does } = capability;
    if (this.#byId.has(id))
      throw new TroupeError(
        "NAME_COLLISION",
        `There is a capability ${JSON.stringify(id)} already: unregister it first, or name this one otherwise.`,
      );
    if (does.how === "actor") {
      const { kind } = does.behaviour;
      const other = this.#kinds.get(kind);
      if (other !== undefined)
        throw new TroupeError(
          "NAME_COLLISION",
          `The capabilities ${other} and ${id} are both the kind of actor ${kind}: name one otherwise.`,
        );
      for (const { engine } of this.#flows) checkKind(id, kind, engine);
      this.#kinds.set(kind, id);
    }
    this.#byId.set(id, capability);
    for (const flow of this.#flows) bind(does, flow);
  }

  #remove(id: string): boolean {
    const { does } = this.#byId.get(id) ?? {};
    if (does?.how === "actor") this.#kinds.delete(does.behaviour.kind);
    return this.#byId.delete(id);
  }

  #notify(): void {
    for (const listener of Array.from(this.#listeners)) listener();
  }
}
