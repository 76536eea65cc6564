import type { JsonObject } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";

/** The schema of an object with the given required members. */
export const object = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
});

export const string = (description: string): JsonObject => ({ type: "string", description });
export const integer = (description: string, minimum: number, maximum?: number): JsonObject => ({
  type: "integer",
  minimum,
  ...omitUndefined({ maximum }),
  description,
});
const nullable = (type: string, description: string): JsonObject => ({ type: [type, "null"], description });

export const STATUS: JsonObject = { type: "string", enum: ["RUNNING", "STOPPED", "FAILED", "PAUSED"] };
export const SUCCESS: JsonObject = { type: "boolean", const: true };

export const GIVEN_NAME = string("What start_actor named it, where it did: stands for its ID");
const NAME = string("Its name: stands for its ID where only one has it");

export const ACTOR: JsonObject = object(
  { id: string("ID of the actor"), name: NAME, given_name: GIVEN_NAME, status: STATUS, uri: string("The resource with its details") },
  ["id", "name", "status", "uri"],
);

const METRICS: JsonObject = {
  type: ["object", "null"],
  description: "What was measured; null: not measured here.",
  properties: Object.fromEntries(
    ["operations", "failed_operations", "total_ms", "max_ms", "min_ms", "memory_bytes", "queued"]
      .map((name): [string, JsonObject] => [name, { type: ["number", "null"] }])
      .concat(["started_at", "last_at"].map((name): [string, JsonObject] => [name, { type: ["string", "null"] }])),
  ),
};

export const DETAILS: JsonObject = {
  id: string("ID of the actor"),
  name: NAME,
  given_name: GIVEN_NAME,
  manifest: nullable("string", "What it was started from"),
  manifest_content: nullable("string", "The manifest's text"),
  status: STATUS,
  created_at: nullable("string", "When its first event happened, ISO 8601"),
  events_uri: string("The resource with its events"),
  state_uri: string("The resource with its state"),
  metrics: METRICS,
  halted: object(
    {
      after_event: string("ID of the event after which it took no more"),
      event_uri: string("The resource with it"),
      why: { type: "string" },
    },
    ["after_event", "event_uri", "why"],
  ),
};

export const EVENT: JsonObject = object(
  {
    event_id: string("ID of the event"),
    actor_id: string("ID of the actor it happened to"),
    timestamp: string("When it happened, ISO 8601"),
    type: string("What happened: StateChanged where the state changed"),
    parent_id: nullable("string", "The event before it in the actor's chain"),
    data: { description: "Its data: JSON, or {_raw_base64} where it is none" },
    children: {
      type: "array",
      items: object({ id: string("ID of the event"), uri: string("The resource with it") }, ["id", "uri"]),
      description:
        "The next event in the chain, then those that messages which left with it caused. Requests and spawns during it are in its data",
    },
  },
  ["event_id", "actor_id", "timestamp", "type", "parent_id", "data", "children"],
);
