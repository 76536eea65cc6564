// Owns: the routes about capabilities: which there are, which lead from one field to another, and searching the messages to their actors. Does not
// own: packets that pass (traffic-routes.ts).

import { omitUndefined } from "../../core/contract/internal.ts";
import type { Capability } from "../packet/index.ts";
import type { ConsoleData, PacketsData } from "./data.ts";
import { actorIn, badRequest, notAvailable, numberIn, pageLimit, textIn } from "./requests.ts";
import { type ConsoleRequest, type ConsoleRoute, LONG_TEXT } from "./routes.ts";
import type { CapabilityRow, PageOf, PlanShape, SearchHit } from "./shapes.ts";

const MOST = 500;
const MOST_FIELDS = 50;

export const packetRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/packets/capabilities",
    summary: "The capabilities that packets request, by name. Kinds of actors that packets reach are among them.",
    query: {
      after: { description: "`next` of the page before.", schema: LONG_TEXT },
      limit: pageLimit(MOST, MOST),
      search: { description: "Only with this text in the name, the intent or a field, in any letter case." },
    },
    answers: "PageOf<CapabilityRow>",
    handle: async (request, data) => await capabilities(request, data),
  },
  {
    verb: "GET",
    path: "/packets/plan",
    summary: "Which capabilities, one after the other, lead from fields that are known to fields that are wanted.",
    query: {
      from: { description: "The fields that are known, separated by commas." },
      to: { description: "The fields that are wanted, separated by commas." },
    },
    answers: "PlanShape",
    handle: async (request, data) => {
      const { plan } = packetsOf(data);
      return omitUndefined({ steps: plan(fieldsIn(request, "from"), fieldsIn(request, "to")) }) satisfies PlanShape;
    },
  },
  {
    verb: "GET",
    path: "/packets/search",
    summary: "Full-text search of the messages to actors, for capabilities that declare searchable fields. The best results come first.",
    query: {
      text: { description: 'All of these words; "a phrase"; the beginning of a word: begin*' },
      actor: { description: "Only of this actor: kind/key.", schema: LONG_TEXT },
      limit: pageLimit(50, 20),
    },
    answers: "PageOf<SearchHit>",
    handle: search,
  },
];

function packetsOf({ packets }: ConsoleData): PacketsData {
  if (packets !== undefined) return packets;
  throw notAvailable("There are no packets here: GET /console/api says why.");
}

async function capabilities(request: ConsoleRequest, data: ConsoleData): Promise<PageOf<CapabilityRow>> {
  const after = textIn(request, "after") ?? "";
  const limit = numberIn(request, "limit") ?? MOST;
  const text = textIn(request, "search")?.toLowerCase();
  const found = packetsOf(data)
    .capabilities()
    .filter((one) => one.id > after && (text === undefined || isIn(one, text)))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const items = await Promise.all(found.slice(0, limit).map((one) => capabilityRow(one, data)));
  return { items, ...(found.length > limit && omitUndefined({ next: items.at(-1)?.id })) };
}

const isIn = ({ id, intent, requires, provides }: Capability, text: string): boolean =>
  [id, intent, ...requires, ...provides].join("\n").toLowerCase().includes(text);

async function capabilityRow(capability: Capability, { reader }: ConsoleData): Promise<CapabilityRow> {
  const { id, intent, requires, provides, effects, parameters, does } = capability;
  const kind = does.how === "actor" ? does.behaviour.kind : undefined;
  return {
    id,
    intent,
    requires,
    provides,
    runs: does.how === "actor" ? "actor" : does.how === "tools" ? "tools" : "function",
    effects: effects.map((one) => (one.effect === "audit_log" ? `audit log ${one.name}` : `${one.metric} ${one.name}`)),
    ...omitUndefined({ parameters, kind }),
    ...(does.how === "actor" && {
      shared: does.shared,
      persistence: does.persistence,
      searchable: does.search,
      ...omitUndefined({ actors: await reader.count?.(omitUndefined({ kind, live: true })) }),
    }),
    ...(does.how === "tools" && { tools: does.tools.map(({ name }) => name) }),
  };
}

/** Throws `BAD_REQUEST`. */
function fieldsIn(request: ConsoleRequest, name: string): readonly string[] {
  const fields = (textIn(request, name) ?? "")
    .split(",")
    .map((field) => field.trim())
    .filter((field) => field !== "");
  if (fields.length <= MOST_FIELDS) return fields;
  throw badRequest(`${name} may have at most ${MOST_FIELDS} fields.`);
}

async function search(request: ConsoleRequest, data: ConsoleData): Promise<PageOf<SearchHit>> {
  const text = textIn(request, "text");
  if (text === undefined) throw badRequest("text must have the words to search for.");
  const actor = actorIn(request);
  const limit = numberIn(request, "limit") ?? 20;
  const items = await packetsOf(data).search(text, { limit, ...omitUndefined({ actor }) });
  if (items === undefined) throw notAvailable("No capability here declares searchable fields.");
  return { items };
}
