import { optionalText, text, wholeNumber } from "./arguments.ts";
import { ACTOR, DETAILS, integer, object, string } from "./schemas.ts";
import { actorJson, detailsJson, stateJson, stateUri } from "./shown.ts";
import { defineTool, READ_ONLY } from "./tool.ts";

const listActors = defineTool(
  "list_actors",
  {
    title: "List actors",
    description: "List the actors that have not stopped: the content of theater://actors, page by page",
    input: object({
      after: string("The `next` of the page before"),
      limit: integer("At most so many actors (default 100)", 1, 1_000),
    }),
    output: object(
      {
        actors: { type: "array", items: ACTOR },
        total: integer("How many there are in all", 0),
        next: string("There may be more: give it as `after`"),
      },
      ["actors", "total"],
    ),
    annotations: READ_ONLY,
  },
  async ({ stage }, args) => {
    const limit = wholeNumber(args, "limit", 1, 1_000, 100);
    const [actors, total] = await Promise.all([stage.list(limit, optionalText(args, "after")), stage.count()]);
    const last = actors.length < limit ? undefined : actors.at(-1);
    return { actors: actors.map(actorJson), total, ...(last === undefined ? {} : { next: last.id }) };
  },
);

const getActor = defineTool(
  "get_actor",
  {
    title: "Get actor",
    description:
      "Detailed information about a specific actor, and its current state: the content of theater://actor/{actor_id} and …/state",
    input: object({ actor_id: string("ID of the actor") }, ["actor_id"]),
    output: object(
      { ...DETAILS, state: { description: 'Its state, as its state_uri has it; {_state: "long"} where it is too long for here' } },
      [...Object.keys(DETAILS).filter((name) => name !== "halted" && name !== "given_name"), "state"],
    ),
    annotations: READ_ONLY,
  },
  async ({ stage, limits }, args) => {
    const details = await stage.actor(text(args, "actor_id"));
    const state = await stage.state(details.id);
    const isLong = state !== undefined && state.length > limits.stateBytes;
    return {
      ...detailsJson(details),
      state: isLong ? { _state: "long", bytes: state.length, uri: stateUri(details.id) } : stateJson(state),
    };
  },
);

export const lookTools = [listActors, getActor] as const;
