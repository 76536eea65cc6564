import { type Bag, type Behaviour, isBag, type Json, type Offer, type Snapshot, type Viewer } from "../contract/index.ts";
import { scopesOf } from "../contract/internal.ts";
import type { Acts, Capability, Guarded, Routed } from "./capability.ts";
import { described } from "./define-capability.ts";
import type { Effect } from "./effect.ts";
import { resultOf } from "./engine-error.ts";
import { memberOf } from "./packet-json.ts";

export interface OfActorOptions {
  /** Default: the kind's name. */
  readonly id?: string;
  readonly requires?: readonly string[];
  readonly provides?: readonly string[];
  readonly effects?: readonly Effect[];
}

/** What is read of a kind of actor beside its behaviour. */
type Described = Behaviour & { readonly describe?: string };

/**
 * An actor as it is, as a capability: `{ "tool": "add", … }` is a call of its tool, or of one that its links lead to, with the other fields as
 * arguments. The same actors, the same mailboxes: who is `shared`, or `per: "user"`, is the actor that MCP clients meet. Throws `BAD_NAME`.
 */
export function capabilityOf(kind: Described, options: OfActorOptions = {}): Capability {
  const { id = kind.kind } = options;
  const tools = new Map((kind.catalogue?.tools ?? []).map((offer) => [offer.name, { offer, guarded: guardOf(offer) }]));
  const about = described(id, { ...options, intent: kind.describe ?? `Actors of the kind ${kind.kind}.`, parameters: parametersOf(kind) });
  const does: Acts = {
    how: "actor",
    behaviour: kind,
    persistence: kind.policy.persistence,
    shared: kind.policy.owner !== "starter",
    idle: false,
    own: true,
    search: [],
    route(payload) {
      const name = memberOf(payload, "tool");
      const known = typeof name === "string" ? tools.get(name) : undefined;
      if (known === undefined) return undefined;
      const { offer, guarded } = known;
      return { action: offer.action, args: argumentsIn(payload), reads: offer.readOnly, ...(guarded && { guarded }) };
    },
    linked(payload) {
      const name = memberOf(payload, "tool");
      if (typeof name !== "string" || name === "" || tools.has(name) || !hasLinks(kind)) return undefined;
      return { ref: `tools/${name}`, args: argumentsIn(payload) };
    },
    known: ({ state, createdAt, lastMessageAt, messageCount }: Snapshot) => ({
      state,
      metadata: { created_at: createdAt, last_message_at: lastMessageAt, message_count: messageCount },
    }),
    read: ({ action, args = {} }: Routed, snapshot, _payload, _context, viewer) =>
      resultOf(kind.view?.(snapshot.state, action, args, viewer, snapshot.id) ?? { ok: null }),
    policyFor: ({ persistence }) => (persistence === undefined || persistence === kind.policy.persistence ? {} : { persistence }),
    defaultKey: (viewer) => keyFor(kind, viewer),
  };
  return Object.freeze({ ...about, does });
}

function guardOf({ name, definition }: Offer): Guarded | undefined {
  const scopes = scopesOf(definition);
  return scopes.length === 0 ? undefined : { ref: `tools/${name}`, scopes };
}

const hasLinks = ({ catalogue }: Behaviour): boolean => catalogue?.links === undefined || Object.keys(catalogue.links).length > 0;

/** Which actor stands for a viewer, by the rule of casts. */
function keyFor({ per }: Behaviour, { principal }: Viewer): string | undefined {
  return per === "shared" ? "main" : per === "user" ? principal : undefined;
}

const argumentsIn = (payload: Bag): Json => Object.fromEntries(Object.entries(payload).filter(([name]) => name !== "tool"));

/** One object for all of its tools: which one, and what any of them takes. */
function parametersOf(kind: Behaviour): Bag {
  const tools = kind.catalogue?.tools ?? [];
  const properties: Record<string, Json> = { tool: { type: "string", enum: tools.map(({ name }) => name) } };
  for (const { definition } of tools) {
    const schema = isBag(definition) ? definition["inputSchema"] : undefined;
    const taken = isBag(schema) ? schema["properties"] : undefined;
    if (isBag(taken)) for (const [name, field] of Object.entries(taken)) if (!Object.hasOwn(properties, name)) properties[name] = field;
  }
  return { type: "object", properties, required: ["tool"] };
}
