// Owns: what a tool is, its context, time limit and hints, and the schemas that tools share. Does not own: the tools (*-tools.ts).
import {
  type CancelSignal,
  type Clock,
  EngineError,
  type JsonObject,
  type Offer,
  untilAborted,
  type Viewer,
} from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type Stage, StageError, UUID } from "../stage.ts";
import type { ActorListing } from "./actor-listing.ts";
import type { ChangeHints, PendingWaits } from "./change-hints.ts";
import type { FaceLimits } from "./options.ts";
import type { ViewerChannels } from "./viewer-channels.ts";

/** What tools, resources and prompts use. */
export interface ToolContext {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly limits: FaceLimits;
  readonly hints: ChangeHints;
  readonly listing: Pick<ActorListing, "report">;
  readonly channels: ViewerChannels;
  readonly waits: PendingWaits;
}

/** The caller of a tool. */
export interface ToolCaller {
  readonly viewer: Viewer;
  readonly signal: CancelSignal | undefined;
}

/** Arguments are as the client sent them. Throws `InvalidArgument`, `StageError`, `CANCELLED`. */
type Run = (context: ToolContext, args: JsonObject, caller: ToolCaller) => Promise<JsonObject>;

export interface Tool {
  readonly offer: Offer;
  readonly run: Run;
}

interface ToolDescription {
  readonly title: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
  readonly annotations: JsonObject;
}

export function defineTool(name: string, { title, description, input, output, annotations }: ToolDescription, run: Run): Tool {
  const definition = Object.freeze({ title, description, inputSchema: input, outputSchema: output, annotations });
  return { offer: Object.freeze({ name, action: name, readOnly: annotations["readOnlyHint"] === true, definition }), run };
}

const hints = (readOnly: boolean, destructive: boolean, idempotent: boolean, open: boolean): JsonObject => ({
  readOnlyHint: readOnly,
  destructiveHint: destructive,
  idempotentHint: idempotent,
  openWorldHint: open,
});

/** What a call may do, for hosts that ask people first. A message may do whatever its actor may. */
export const READ_ONLY = hints(true, false, true, false);
export const ADDITIVE = hints(false, false, false, false);
export const CONSUMING = hints(false, false, false, false);
export const DESTRUCTIVE = hints(false, true, true, false);
export const OPEN_WORLD = hints(false, true, false, true);

/** Resolves an id or a unique name to the id. Throws `ActorNotFound`. */
export async function resolveActorId(stage: Pick<Stage, "actor">, idOrName: string): Promise<string> {
  return UUID.test(idOrName) ? idOrName.toLowerCase() : (await stage.actor(idOrName)).id;
}

interface TimeLimit {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: CancelSignal | undefined;
}

/** Runs with a time limit and the caller's signal. Throws `Timeout` or `CANCELLED`, even if `run` does not heed its own signal. */
export async function withTimeLimit<T>(
  what: string,
  { clock, ms, signal }: TimeLimit,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  // One controller for both: AbortSignal.any costs as much as the rest of a call.
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const undo = clock.after(ms, abort);
  if (signal?.aborted === true) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  try {
    return await untilAborted(controller.signal, () => run(controller.signal));
  } catch (error) {
    if (signal?.aborted === true) throw new EngineError("CANCELLED", `${what} was cancelled.`, { applied: "unknown", cause: error });
    if (!controller.signal.aborted) throw error;
    throw new StageError("Timeout", `${what} took longer than ${ms} ms, and may still take effect`, { cause: error });
  } finally {
    undo();
    signal?.removeEventListener("abort", abort);
  }
}

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
