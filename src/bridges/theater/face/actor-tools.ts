import { utf8Of } from "../../../core/platform/index.ts";
import type { JsonObject } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { optionalBytes, optionalObject, optionalText, text } from "./arguments.ts";
import { InvalidArgument } from "./invalid.ts";
import { GIVEN_NAME, object, STATUS, string } from "./schemas.ts";
import { givenNameJson } from "./shown.ts";
import { resolveActorId } from "./subject.ts";
import { ADDITIVE, DESTRUCTIVE, defineTool } from "./tool.ts";

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
    const manifest = text(args, "manifest", limits.manifestLength);
    const name = optionalText(args, "name", 256);
    const component = optionalBytes(args, "component", limits.componentBytes);
    const initialState = initialStateIn(args, limits.messageBytes);
    const started = await stage.start({
      manifest,
      ...omitUndefined({ initialState, component, name }),
    });
    listing.report(started.id, "began");
    return { actor_id: started.id, name: started.name, ...givenNameJson(started.given), status: started.status };
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
    const id = await resolveActorId(stage, text(args, "actor_id"));
    await stage.stop(id);
    listing.report(id, "ended");
    return { actor_id: id, status: "STOPPED" };
  },
);

const restartActor = defineTool(
  "restart_actor",
  {
    title: "Restart actor",
    description: "Restart a running actor; one that is paused resumes. It keeps its ID and its state",
    input: object({ actor_id: string("ID of the actor to restart") }, ["actor_id"]),
    output: object({ actor_id: string("ID of the actor"), status: STATUS }, ["actor_id", "status"]),
    annotations: ADDITIVE,
  },
  async ({ stage }, args) => {
    const { id, status } = await stage.restart(await resolveActorId(stage, text(args, "actor_id")));
    return { actor_id: id, status };
  },
);

export const actorTools = [startActor, stopActor, restartActor] as const;
