// Owns: the texts of a chain's events, as they were hashed, for clients that verify it themselves (C7). Does not own: events as people
// read them.

import { EventPages } from "../../core/contract/internal.ts";
import type { ActorReader } from "../operate/index.ts";
import { actorOf, numberIn, pageLimit, SEQ, stateOf } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import type { EventTexts, PageOf } from "./shapes.ts";

const MOST = 500;
/** Bodies may have megabytes: a page ends early, with at least one event. */
const MAX_CHARACTERS = 1_048_576;
const STEP = 50;

export const textRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/actors/:kind/:key/texts",
    summary: "The texts of an actor's events that were hashed, oldest first: header and body. A page ends early where they are large.",
    query: {
      after: { description: "Only events after this one. Default: all.", schema: { ...SEQ, default: 0 } },
      limit: pageLimit(MOST, MOST),
    },
    answers: "PageOf<EventTexts>",
    handle: async (request, { reader }) => await textsOf(request, reader),
  },
];

async function textsOf(request: ConsoleRequest, reader: ActorReader): Promise<PageOf<EventTexts>> {
  const id = actorOf(request);
  await stateOf(reader, id);
  const after = numberIn(request, "after") ?? 0;
  const limit = numberIn(request, "limit") ?? MOST;
  const items: EventTexts[] = [];
  let characters = 0;
  const pages = new EventPages(STEP);
  while (items.length < limit && characters < MAX_CHARACTERS) {
    const wanted = Math.min(pages.size, limit - items.length);
    const events = await reader.events(id, after + items.length, wanted);
    pages.read(events);
    for (const event of events) {
      if (characters >= MAX_CHARACTERS) return { items, next: String(after + items.length) };
      const { id: hash, header, body } = event;
      characters += header.length + (body?.length ?? 0);
      items.push({ seq: after + items.length + 1, id: hash, header, ...(body === undefined ? {} : { body }) });
    }
    if (events.length < wanted) return { items };
  }
  return { items, next: String(after + items.length) };
}
