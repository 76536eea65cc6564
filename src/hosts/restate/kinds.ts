// Owns: the kinds that a node serves. Does not own: encryption (sealer.ts).
import { faults, keyOf, mayStart, rolesByKind } from "../../core/chain/internal.ts";
import type { ActorId, Behaviour, Json, Message, RolesByKind, Viewer } from "../../core/contract/index.ts";
import { kindOf } from "../../core/contract/internal.ts";
import { sealer, unsealed, type Sealer } from "./sealer.ts";

/** The kinds that a node serves, and what is secret in their messages. */
export class Kinds {
  readonly #kinds: ReadonlyMap<string, Behaviour>;
  readonly #sealer: Sealer;
  /** Those that the links of others reach. */
  readonly #linked: ReadonlySet<string>;

  /** Throws `ENGINE_MISSING` if a kind needs a secret and there is none. */
  constructor(kinds: readonly Behaviour[], secret: Uint8Array | undefined) {
    for (const behaviour of kinds) if (behaviour.redact !== undefined && secret === undefined) throw faults.secretMissing(behaviour.kind);
    this.#kinds = new Map(kinds.map((behaviour) => [behaviour.kind, behaviour]));
    this.#linked = new Set(kinds.flatMap(({ catalogue }) => Object.values(catalogue?.links ?? {}).flat()));
    this.#sealer = secret === undefined ? unsealed : sealer(secret);
  }

  get names(): readonly string[] {
    return [...this.#kinds.keys()];
  }

  has(kind: string): boolean {
    return this.#kinds.has(kind);
  }

  /** True if a link may reach actors of that kind. */
  isLinked(kind: string): boolean {
    const per = this.#kinds.get(kind)?.per ?? "link";
    return per === "link" || this.#linked.has(kind);
  }

  /** Throws `BAD_ID`, `UNKNOWN_KIND`. */
  check(id: ActorId): void {
    keyOf(id);
    if (!this.has(kindOf(id))) throw faults.unknownKind(kindOf(id));
  }

  /** True if the message may start its actor. */
  mayStart(message: Message): boolean {
    const behaviour = this.#kinds.get(kindOf(message.to));
    return behaviour !== undefined && mayStart({ behaviour }, message);
  }

  /** True if a state of that version was written by newer code than this node's, which cannot show it. */
  isNewer(kind: string, version: number): boolean {
    return version > (this.#kinds.get(kind)?.version ?? version);
  }

  /** Seals only kinds that have secrets: readable data on the server helps to find faults. */
  sealerFor(kind: string): Sealer {
    return this.#kinds.get(kind)?.redact === undefined ? { seal: unsealed.seal, open: this.#sealer.open } : this.#sealer;
  }

  rolesOf(viewer: Viewer): RolesByKind {
    return rolesByKind([...this.#kinds.values()], viewer);
  }

  /** The arguments without secrets. */
  redactedArgs(message: Message): Json {
    const behaviour = this.#kinds.get(kindOf(message.to));
    return behaviour?.redact === undefined ? message.args : behaviour.redact(message);
  }
}
