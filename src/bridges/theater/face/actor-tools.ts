import { utf8Of } from "../../../core/platform/index.ts";
import type { JsonObject } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { optionalBytes, optionalObject, optionalText, text } from "./arguments.ts";
import { InvalidArgument } from "./invalid.ts";
import { GIVEN, object, STATUS, string } from "./schemas.ts";
import { givenShown } from "./shown.ts";
import { idOf } from "./subject.ts";
import { ADDS, ENDS, faceTool } from "./tool.ts";

function stateIn(args: JsonObject, maxBytes: number): Uint8Array | undefined {
  const state = optionalObject(args, "initial_state");
  if (state === undefined) return undefined;
  const bytes = utf8Of(JSON.stringify(state));
  if (bytes.length <= maxBytes) return bytes;
  throw new InvalidArgument(`\`initial_state\` is longer than ${maxBytes} bytes of JSON: begin with less, and send the rest.`);
}

const startActor = faceTool(
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
    output: object({ actor_id: string("ID of the actor"), name: string("Its name"), given_name: GIVEN, status: STATUS }, [
      "actor_id",
      "name",
      "status",
    ]),
    annotations: ADDS,
  },
  async ({ stage, limits, listing }, args) => {
    const manifest = text(args, "manifest", limits.manifestLength);
    const name = optionalText(args, "name", 256);
    const component = optionalBytes(args, "component", limits.componentBytes);
    const initialState = stateIn(args, limits.messageBytes);
    const started = await stage.start({
      manifest,
      ...omitUndefined({ initialState, component, name }),
    });
    listing.note(started.id, "began");
    return { actor_id: started.id, name: started.name, ...givenShown(started.given), status: started.status };
  },
);

const stopActor = faceTool(
  "stop_actor",
  {
    title: "Stop actor",
    description: "Stop a running actor",
    input: object({ actor_id: string("ID of the actor to stop") }, ["actor_id"]),
    output: object({ actor_id: string("ID of the actor"), status: { type: "string", const: "STOPPED" } }, ["actor_id", "status"]),
    annotations: ENDS,
  },
  async ({ stage, listing }, args) => {
    const id = await idOf(stage, text(args, "actor_id"));
    await stage.stop(id);
    listing.note(id, "ended");
    return { actor_id: id, status: "STOPPED" };
  },
);

const restartActor = faceTool(
  "restart_actor",
  {
    title: "Restart actor",
    description: "Restart a running actor; one that is paused resumes. It keeps its ID and its state",
    input: object({ actor_id: string("ID of the actor to restart") }, ["actor_id"]),
    output: object({ actor_id: string("ID of the actor"), status: STATUS }, ["actor_id", "status"]),
    annotations: ADDS,
  },
  async ({ stage }, args) => {
    const { id, status } = await stage.restart(await idOf(stage, text(args, "actor_id")));
    return { actor_id: id, status };
  },
);

export const actorTools = [startActor, stopActor, restartActor] as const;
