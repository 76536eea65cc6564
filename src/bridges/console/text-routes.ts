// Owns: the texts of a chain's events, as they were hashed, for clients that verify it themselves (C7). Does not own: events as people
// read them.

import { isActorId } from "../../core/contract/internal.ts";
import type { ConsoleData } from "./data.ts";
import { type ConsoleRequest, type ConsoleRoute, RequestError } from "./routes.ts";
import type { EventTexts, PageOf } from "./shapes.ts";

const MOST = 500;
/** Bodies may have megabytes: a page ends early, with at least one event. */
const MAX_CHARACTERS = 1_048_576;
const STEP = 50;

export const textRoutes: readonly ConsoleRoute<ConsoleData>[] = [
  {
    verb: "GET",
    path: "/actors/:kind/:key/texts",
    summary: "The texts of an actor's events that were hashed, oldest first: header and body. A page ends early where they are large.",
    query: {
      after: { description: "Only events after this one. Default: all.", schema: { type: "integer", minimum: 0, default: 0 } },
      limit: { description: "At most so many.", schema: { type: "integer", minimum: 1, maximum: MOST, default: MOST } },
    },
    answers: "PageOf<EventTexts>",
    handle: async (request, { reader }) => await textsOf(request, reader),
  },
];

async function textsOf({ params, query }: ConsoleRequest, reader: ConsoleData["reader"]): Promise<PageOf<EventTexts>> {
  const id = `${params["kind"] ?? ""}/${encodeURIComponent(params["key"] ?? "")}`;
  if (!isActorId(id)) throw new RequestError(404, "NOT_FOUND", `There is no actor ${id}.`);
  const after = integerIn(query, "after", 0, Number.MAX_SAFE_INTEGER) ?? 0;
  const limit = integerIn(query, "limit", 1, MOST) ?? MOST;
  const items: EventTexts[] = [];
  let characters = 0;
  while (items.length < limit && characters < MAX_CHARACTERS) {
    const wanted = Math.min(STEP, limit - items.length);
    const events = await reader.events(id, after + items.length, wanted);
    for (const event of events) {
      const { id: hash, header, body } = event;
      characters += header.length + (body?.length ?? 0);
      items.push({ seq: after + items.length + 1, id: hash, header, ...(body === undefined ? {} : { body }) });
    }
    if (events.length < wanted) {
      if (after === 0 && items.length === 0 && (await reader.state(id)) === undefined)
        throw new RequestError(404, "NOT_FOUND", `There is no actor ${id}.`);
      return { items };
    }
  }
  return { items, next: String(after + items.length) };
}

/** Throws `BAD_REQUEST`. Undefined: it was not given. */
function integerIn(query: URLSearchParams, name: string, least: number, most: number): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new RequestError(400, "BAD_REQUEST", `"${name}" must be a whole number from ${least} to ${most}.`);
}
