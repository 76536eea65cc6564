// Owns: what an engine derives from a behaviour once, and what an actor has beyond its state. Does not own: turns.
import { DEFAULT_POLICY, type ActorId, type JsonObject, type Behaviour, type Policy, type Row, type SetWake } from "../contract/index.ts";
import { omitUndefined } from "../contract/internal.ts";

/** What an actor has beyond its state. Actors with nothing special share one object per kind. */
export interface Extra {
  readonly policy: Policy;
  readonly uid?: string;
  readonly override?: Partial<Policy>;
  readonly owner?: string;
  readonly parent?: ActorId;
  /** A fork: what it sends by itself is recorded, not delivered; its replies are. */
  readonly muted?: true;
  readonly wakes: Readonly<Record<string, SetWake>>;
  readonly pending: JsonObject;
}

/** A behaviour, with what every turn needs of it derived once. */
export interface Kind {
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly topic: string;
  readonly plain: Extra;
  /** What only reads: no event remembers the reply to a call with a key, which reads again. */
  readonly reads: ReadonlySet<string>;
}

export function kindFrom(behaviour: Behaviour): Kind {
  const policy = { ...DEFAULT_POLICY, ...behaviour.policy };
  const { kind: name, catalogue } = behaviour;
  const hasViews = catalogue !== undefined && behaviour.view !== undefined;
  const offers = hasViews ? [catalogue.tools, catalogue.resources, catalogue.prompts].flat() : [];
  const reads = new Set(offers.filter(({ readOnly }) => readOnly).map(({ action }) => action));
  return { name, behaviour, topic: `${name}/*`, plain: { policy, wakes: {}, pending: {} }, reads };
}

/**
 * The part of the policy that is stored in the row: the overrides, and always the expiry, since a store finds expired actors without
 * knowing their kinds.
 */
export function overrideOf(kind: Kind, given: Partial<Policy> | undefined): Partial<Policy> | undefined {
  const { expireMs } = kind.plain.policy;
  const expires = Number.isFinite(expireMs) && expireMs !== undefined;
  if (given === undefined) return expires ? { expireMs } : undefined;
  // Rows and messages are JSON, in which Infinity becomes null. The kind's own value applies then.
  const lasting: Partial<Policy> = Object.fromEntries(
    Object.entries<unknown>(given).filter(([, value]) => value !== null && (typeof value !== "number" || Number.isFinite(value))),
  );
  return { ...(expires ? { expireMs } : {}), ...lasting };
}

export const policyWith = (kind: Kind, override: Partial<Policy> | undefined): Policy =>
  override === undefined ? kind.plain.policy : { ...kind.plain.policy, ...override };

/** The same as when the row was written. */
export function extraOf(kind: Kind, { uid, life, policy, owner, parent, muted, wakes, pending }: Row): Extra {
  return {
    policy: policyWith(kind, policy),
    ...omitUndefined({ uid: uid === life ? undefined : uid, override: policy, owner, parent, muted }),
    wakes,
    pending,
  };
}
