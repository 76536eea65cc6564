import type { Catalogue, Json, Offer } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";
import type { Capability, OfferedTool } from "./capability.ts";
import { toolsOf } from "./tool-schema.ts";

/** Which capabilities MCP shows and takes calls for: all, or those of these ids. */
export type Expose = "all" | readonly string[];

/** A tool and the capability behind it. */
export interface BookedTool {
  readonly capability: Capability;
  readonly tool: OfferedTool;
  /** The tool as MCP lists it. */
  readonly offer: Offer;
}

/** What MCP shows of the capabilities there are at a time. */
export interface ToolBook {
  readonly catalogue: Catalogue;
  readonly tools: ReadonlyMap<string, BookedTool>;
  /** By id: those that are shown. */
  readonly exposed: ReadonlyMap<string, Capability>;
  /** The content of `packetflow://capabilities`. */
  readonly listing: Json;
  /** Tools that cannot be called, since another has their name: in words. */
  readonly taken: readonly string[];
}

const RESOURCES: readonly Offer[] = [
  resource("capabilities", {
    uri: "packetflow://capabilities",
    description: "What can be asked for: each capability, what it needs and what it gives.",
  }),
  resource("capability_actors", { uri: "packetflow://actors", description: "The caller's actors that live now." }),
  resource("capability_actor", {
    uriTemplate: "packetflow://actor/{capability}/{id}",
    description: "One of them: its state, and how long it has been at it.",
  }),
];

function resource(name: string, definition: Offer["definition"]): Offer {
  return Object.freeze({ name, action: name, readOnly: true, definition: Object.freeze({ ...definition, mimeType: "application/json" }) });
}

export const actorUri = (capability: string, actor_id: string): string =>
  `packetflow://actor/${capability}/${encodeURIComponent(actor_id)}`;

// The same objects as long as the capability is there: what is compiled and written of an offer hangs on it.
const bookedOf = memoize((capability: Capability): readonly BookedTool[] =>
  toolsOf(capability).map((tool) => ({ capability, tool, offer: offerOf(tool) })),
);

function offerOf({ name, description, inputSchema }: OfferedTool): Offer {
  const definition = Object.freeze({ description, inputSchema });
  return Object.freeze({ name, action: name, readOnly: false, checksArguments: true, definition });
}

/** `generate` false: only tools that capabilities define themselves. A name belongs to the capability that came first. */
export function makeToolBook(capabilities: readonly Capability[], expose: Expose, generate: boolean): ToolBook {
  const wanted = expose === "all" ? undefined : new Set(expose);
  const exposed = new Map<string, Capability>();
  const tools = new Map<string, BookedTool>();
  const taken: string[] = [];
  for (const capability of capabilities) {
    if (wanted?.has(capability.id) === false) continue;
    exposed.set(capability.id, capability);
    if (!generate && capability.does.how !== "tools") continue;
    // MCP meets such actors as they are.
    if (capability.does.how === "actor" && capability.does.own !== undefined) continue;
    for (const one of bookedOf(capability)) {
      const { name } = one.tool;
      const other = tools.get(name);
      if (other === undefined) tools.set(name, one);
      else taken.push(`${other.capability.id} and ${capability.id} both have a tool ${name}: name one otherwise`);
    }
  }
  const shown = Array.from(tools.values(), ({ offer }) => offer);
  let listing: Json | undefined;
  return {
    catalogue: { tools: shown, resources: RESOURCES, prompts: [] },
    tools,
    exposed,
    taken,
    // Capabilities come and go more often than anybody reads of all of them.
    get listing() {
      return (listing ??= { capabilities: Array.from(exposed.values(), (one) => described(one, tools)) });
    },
  };
}

function described(capability: Capability, tools: ReadonlyMap<string, BookedTool>): Json {
  const { id, intent, requires, provides, does } = capability;
  const own = toolsOf(capability).filter(({ name }) => tools.get(name)?.capability === capability);
  return {
    id,
    intent,
    requires,
    provides,
    actor_enabled: does.how === "actor",
    mcp_enabled: own.length > 0,
    tools: own.map(({ name }) => name),
  };
}
