// Owns: the tools that read an actor's events and wait for them. Does not own: the events as JSON (actor-json.ts).
import type { JsonObject } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import type { EventQuery } from "../stage.ts";
import { eventJson, withinLength } from "./actor-json.ts";
import { InvalidArgument, optionalText, requiredText, wholeNumber } from "./arguments.ts";
import type { Wakeup } from "./change-hints.ts";
import { defineTool, EVENT, integer, object, READ_ONLY, resolveActorId, string, type ToolCaller, type ToolContext } from "./tool.ts";

const MAX_WAIT_MS = 60_000;
// Hints of a remote stage may be lost, so a wait also polls.
const POLL_MS = 2_000;

const EVENTS: JsonObject = { type: "array", items: EVENT, description: "Oldest first" };
const NEXT = string("The last of them: give it as `after`");

/** An actor's events as JSON, bounded: the first after `after`, else the last. */
export async function eventsJson(
  { stage, limits }: Pick<ToolContext, "stage" | "limits">,
  id: string,
  query: EventQuery,
): Promise<readonly JsonObject[]> {
  const events = await stage.events(id, query);
  return withinLength(events.map(eventJson), limits.eventsLength, query.after !== undefined);
}

const nextCursor = (events: readonly JsonObject[]): JsonObject => omitUndefined({ next: events.at(-1)?.["event_id"] });

const getEvents = defineTool(
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
    annotations: READ_ONLY,
  },
  async (context, args) => {
    const id = await resolveActorId(context.stage, requiredText(args, "actor_id"));
    const [after, before] = [optionalText(args, "after"), optionalText(args, "before")];
    if (after !== undefined && before !== undefined)
      throw new InvalidArgument("`after` and `before` do not go together: give one of them, and `limit` for how many.");
    const limit = wholeNumber(args, "limit", 1, 1_000, 100);
    const query = { limit, ...omitUndefined({ after, before }) };
    const events = await eventsJson(context, id, query);
    return { events, ...nextCursor(events) };
  },
);

const waitForEvent = defineTool(
  "wait_for_event",
  {
    title: "Wait for event",
    description: "Wait until something happens to a specific actor: the events that follow `after`, else the next one from now on",
    input: object(
      {
        actor_id: string("ID of the actor"),
        after: string("ID of the event they follow"),
        timeout_ms: integer("How long to wait, in milliseconds (default 30,000)", 0, MAX_WAIT_MS),
      },
      ["actor_id"],
    ),
    output: object({ events: EVENTS, timed_out: { type: "boolean" }, next: NEXT }, ["events", "timed_out"]),
    annotations: READ_ONLY,
  },
  async (context, args, caller) => {
    const deadline = context.clock.now() + wholeNumber(args, "timeout_ms", 0, MAX_WAIT_MS, 30_000);
    const id = await resolveActorId(context.stage, requiredText(args, "actor_id"));
    return context.waits.with(async (wakeup) => {
      const undo = context.hints.forActor(id, () => wakeup.notify());
      try {
        return await waitForEvents(context, { id, after: optionalText(args, "after"), deadline, wakeup }, caller);
      } finally {
        undo();
      }
    });
  },
);

interface Wait {
  readonly id: string;
  readonly after: string | undefined;
  readonly deadline: number;
  readonly wakeup: Wakeup;
}

async function waitForEvents(context: ToolContext, { id, after, deadline, wakeup }: Wait, { signal }: ToolCaller): Promise<JsonObject> {
  const { stage, clock, waits } = context;
  const since = after ?? (await stage.events(id, { limit: 1 })).at(-1)?.id;
  for (;;) {
    const events = await eventsJson(context, id, { limit: 100, ...omitUndefined({ after: since }) });
    if (events.length > 0) return { events, timed_out: false, ...nextCursor(events) };
    const remainingMs = deadline - clock.now();
    if (remainingMs <= 0 || waits.closed) return { events: [], timed_out: true, ...omitUndefined({ next: since }) };
    await wakeup.wait(clock, Math.min(remainingMs, POLL_MS), signal);
  }
}

export const eventTools = [getEvents, waitForEvent] as const;
