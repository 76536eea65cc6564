import { type JsonObject, type Behaviour, isJsonObject, type Json, type Snapshot } from "../../core/contract/index.ts";
import { setOwn } from "../../core/contract/internal.ts";
import { addressOf } from "../../mcp/source/index.ts";
import type { Acts, Capability } from "./capability.ts";
import { described } from "./define-capability.ts";
import type { Effect } from "./effect.ts";
import { keyOf } from "../../core/actor/index.ts";
import { memberOf } from "./packet-json.ts";

/** How an actor's kind becomes a capability. */
export interface OfActorOptions {
  /** Default: the kind's name. */
  readonly id?: string;
  readonly requires?: readonly string[];
  readonly provides?: readonly string[];
  readonly effects?: readonly Effect[];
}

/** What is read of a kind of actor beside its behaviour. */
type Described = Behaviour & { readonly description?: string };

/**
 * An actor as it is, as a capability: `{ "tool": "add", … }` is a call of its tool, or of one that its links lead to, with the other fields as
 * arguments. The same actors, mailboxes and access rule as over MCP. Throws `BAD_NAME`.
 */
export function capabilityOf(kind: Described, options: OfActorOptions = {}): Capability {
  const { id = kind.kind } = options;
  const about = described(id, {
    ...options,
    intent: kind.description ?? `Actors of the kind ${kind.kind}.`,
    parameters: parametersOf(kind),
  });
  const does: Acts = {
    how: "actor",
    behaviour: kind,
    persistence: kind.policy.persistence,
    shared: kind.policy.owner !== "starter",
    idle: false,
    own(payload) {
      const name = memberOf(payload, "tool");
      return typeof name === "string" && name !== "" ? { ref: `tools/${name}`, args: argumentsIn(payload) } : undefined;
    },
    search: [],
    route: () => undefined,
    known: ({ state, createdAt, lastMessageAt, messageCount }: Snapshot) => ({
      state,
      metadata: { created_at: createdAt, last_message_at: lastMessageAt, message_count: messageCount },
    }),
    read: () => undefined,
    policyFor: () => ({}),
    defaultKey(viewer) {
      const address = addressOf(kind, viewer, undefined);
      return address && keyOf(address.id);
    },
  };
  return Object.freeze({ ...about, does });
}

const argumentsIn = (payload: JsonObject): JsonObject => Object.fromEntries(Object.entries(payload).filter(([name]) => name !== "tool"));

/** One object for all of its tools: which one, and what any of them takes. */
function parametersOf(kind: Behaviour): JsonObject {
  const tools = kind.catalogue?.tools ?? [];
  const properties: Record<string, Json> = { tool: { type: "string", enum: tools.map(({ name }) => name) } };
  for (const { definition } of tools) {
    const schema = isJsonObject(definition) ? definition["inputSchema"] : undefined;
    const taken = isJsonObject(schema) ? schema["properties"] : undefined;
    if (isJsonObject(taken))
      for (const [name, field] of Object.entries(taken)) if (!Object.hasOwn(properties, name)) setOwn(properties, name, field);
  }
  return { type: "object", properties, required: ["tool"] };
}
