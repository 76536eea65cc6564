import type { JsonObject } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import type { EventQuery } from "../stage.ts";
import { optionalText, text, whole } from "./arguments.ts";
import type { Bell } from "./bell.ts";
import { InvalidArgument } from "./invalid.ts";
import { EVENT, integer, object, string } from "./schemas.ts";
import { eventShown, fitting } from "./shown.ts";
import { idOf } from "./subject.ts";
import { type Backstage, faceTool, LOOKS, type ToolCaller } from "./tool.ts";

const LONGEST_MS = 60_000;
// Hints of a remote stage may be lost, so a wait also polls.
const LOOK_MS = 2_000;

const EVENTS: JsonObject = { type: "array", items: EVENT, description: "Oldest first" };
const NEXT = string("The last of them: give it as `after`");

/** An actor's events as JSON, bounded: the first after `after`, else the last. */
export async function eventsShown(
  { stage, limits }: Pick<Backstage, "stage" | "limits">,
  id: string,
  query: EventQuery,
): Promise<readonly JsonObject[]> {
  const events = await stage.events(id, query);
  return fitting(events.map(eventShown), limits.eventsLength, query.after !== undefined);
}

const lastId = (events: readonly JsonObject[]): JsonObject => {
  const id = events.at(-1)?.["event_id"];
  return id === undefined ? {} : { next: id };
};

const getEvents = faceTool(
  "get_events",
  {
    title: "Get events",
    description: "The event chain of a specific actor, oldest first: the events that follow `after`, or those before `before`, or the last",
    input: object(
      {
        actor_id: string("ID of the actor"),
        after: string("ID of the event they follow"),
        before: string("ID of the event they precede, instead of `after`"),
        limit: integer("At most so many events (default 100)", 1, 1_000),
      },
      ["actor_id"],
    ),
    output: object({ events: EVENTS, next: NEXT }, ["events"]),
    annotations: LOOKS,
  },
  async (backstage, args) => {
    const id = await idOf(backstage.stage, text(args, "actor_id"));
    const [after, before] = [optionalText(args, "after"), optionalText(args, "before")];
    if (after !== undefined && before !== undefined)
      throw new InvalidArgument("`after` and `before` do not go together: give one of them, and `limit` for how many.");
    const limit = whole(args, "limit", 1, 1_000, 100);
    const query = { limit, ...omitUndefined({ after, before }) };
    const events = await eventsShown(backstage, id, query);
    return { events, ...lastId(events) };
  },
);

const waitForEvent = faceTool(
  "wait_for_event",
  {
    title: "Wait for event",
    description: "Wait until something happens to a specific actor: the events that follow `after`, else the next one from now on",
    input: object(
      {
        actor_id: string("ID of the actor"),
        after: string("ID of the event they follow"),
        timeout_ms: integer("How long to wait, in milliseconds (default 30,000)", 0, LONGEST_MS),
      },
      ["actor_id"],
    ),
    output: object({ events: EVENTS, timed_out: { type: "boolean" }, next: NEXT }, ["events", "timed_out"]),
    annotations: LOOKS,
  },
  async (backstage, args, caller) => {
    const until = backstage.clock.now() + whole(args, "timeout_ms", 0, LONGEST_MS, 30_000);
    const id = await idOf(backstage.stage, text(args, "actor_id"));
    return backstage.bells.with(async (bell) => {
      const undo = backstage.hints.of(id, () => bell.ring());
      try {
        return await follows(backstage, { id, after: optionalText(args, "after"), until, bell }, caller);
      } finally {
        undo();
      }
    });
  },
);

interface Wait {
  readonly id: string;
  readonly after: string | undefined;
  readonly until: number;
  readonly bell: Bell;
}

async function follows(backstage: Backstage, { id, after, until, bell }: Wait, { signal }: ToolCaller): Promise<JsonObject> {
  const { stage, clock, bells } = backstage;
  const since = after ?? (await stage.events(id, { limit: 1 })).at(-1)?.id;
  for (;;) {
    const events = await eventsShown(backstage, id, { limit: 100, ...omitUndefined({ after: since }) });
    if (events.length > 0) return { events, timed_out: false, ...lastId(events) };
    const left = until - clock.now();
    if (left <= 0 || bells.closed) return { events: [], timed_out: true, ...omitUndefined({ next: since }) };
    await bell.next(clock, Math.min(left, LOOK_MS), signal);
  }
}

export const eventTools = [getEvents, waitForEvent] as const;
