// Owns: the tools that start, stop, restart, list and read actors. Does not own: messages (messaging-tools.ts), events (event-tools.ts).
import type { JsonObject } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { utf8Of } from "../../../core/platform/index.ts";
import { actorJson, detailsJson, stateJson, stateUri } from "./actor-json.ts";
import { InvalidArgument, optionalBytes, optionalObject, optionalText, requiredText, wholeNumber } from "./arguments.ts";
import {
  ACTOR,
  ADDITIVE,
  defineTool,
  DESTRUCTIVE,
  DETAILS,
  GIVEN_NAME,
  integer,
  object,
  READ_ONLY,
  resolveActorId,
  STATUS,
  string,
} from "./tool.ts";

function initialStateIn(args: JsonObject, maxBytes: number): Uint8Array | undefined {
  const state = optionalObject(args, "initial_state");
  if (state === undefined) return undefined;
  const bytes = utf8Of(JSON.stringify(state));
  if (bytes.length <= maxBytes) return bytes;
  throw new InvalidArgument(`\`initial_state\` is longer than ${maxBytes} bytes of JSON: begin with less, and send the rest.`);
}

const startActor = defineTool(
  "start_actor",
  {
    title: "Start actor",
    description: "Start a new actor from a manifest",
    input: object(
      {
        manifest: string("Path to the actor manifest or manifest content"),
        initial_state: { type: "object", description: "Optional initial state for the actor" },
        name: string("Optional name, unique among running actors, accepted wherever an actor_id is"),
        component: string("Optional WebAssembly component (base64 encoded), where manifest is the manifest's content"),
      },
      ["manifest"],
    ),
    output: object({ actor_id: string("ID of the actor"), name: string("Its name"), given_name: GIVEN_NAME, status: STATUS }, [
      "actor_id",
      "name",
      "status",
    ]),
    annotations: ADDITIVE,
  },
  async ({ stage, limits, listing }, args) => {
    const manifest = requiredText(args, "manifest", limits.manifestLength);
    const name = optionalText(args, "name", 256);
    const component = optionalBytes(args, "component", limits.componentBytes);
    const initialState = initialStateIn(args, limits.messageBytes);
    const started = await stage.start({
      manifest,
      ...omitUndefined({ initialState, component, name }),
    });
    listing.report(started.id, "began");
    return { actor_id: started.id, name: started.name, ...omitUndefined({ given_name: started.given }), status: started.status };
  },
);

const stopActor = defineTool(
  "stop_actor",
  {
    title: "Stop actor",
    description: "Stop a running actor",
    input: object({ actor_id: string("ID of the actor to stop") }, ["actor_id"]),
    output: object({ actor_id: string("ID of the actor"), status: { type: "string", const: "STOPPED" } }, ["actor_id", "status"]),
    annotations: DESTRUCTIVE,
  },
  async ({ stage, listing }, args) => {
    const id = await resolveActorId(stage, requiredText(args, "actor_id"));
    await stage.stop(id);
    listing.report(id, "ended");
    return { actor_id: id, status: "STOPPED" };
  },
);

const restartActor = defineTool(
  "restart_actor",
  {
    title: "Restart actor",
    description: "Restart a running actor",
    input: object({ actor_id: string("ID of the actor to restart") }, ["actor_id"]),
    output: object({ actor_id: string("ID of the actor, the same as before"), status: STATUS }, ["actor_id", "status"]),
    annotations: ADDITIVE,
  },
  async ({ stage }, args) => {
    const { id, status } = await stage.restart(await resolveActorId(stage, requiredText(args, "actor_id")));
    return { actor_id: id, status };
  },
);

export const actorTools = [startActor, stopActor, restartActor] as const;

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
    return { actors: actors.map(actorJson), total, ...omitUndefined({ next: last?.id }) };
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
    const details = await stage.actor(requiredText(args, "actor_id"));
    const state = await stage.state(details.id);
    const isLong = state !== undefined && state.length > limits.stateBytes;
    return {
      ...detailsJson(details),
      state: isLong ? { _state: "long", bytes: state.length, uri: stateUri(details.id) } : stateJson(state),
    };
  },
);

export const lookTools = [listActors, getActor] as const;
