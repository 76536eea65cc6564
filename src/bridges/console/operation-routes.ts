// Owns: what operators do to actors: stop, restart, fork, revert, checkpoint, edit; and the same to many. Does not own: how it is done
// (bridges/operate), calls (call-routes.ts).

import { isJsonObject, type Json, type JsonObject, TroupeError } from "../../core/contract/index.ts";
import { isActorId, isTexts } from "../../core/contract/internal.ts";
import { editsOff, type Operate, OperationError, yieldToEventLoop } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import { actorOf, badRequest, notAvailable } from "./requests.ts";
import { type ConsoleRequest, type ConsoleRoute, RequestError } from "./routes.ts";
import type { BatchOutcome, Done, Written } from "./shapes.ts";

const REASON = { type: "string", minLength: 1, maxLength: 1_000, description: "Why; the chain records it." };
const SEQ = { type: "integer", minimum: 1 };
const MAX_IDS = 10_000;
/** Of a stop without a reason. */
const DEFAULT_REASON = "stopped in the console";

const body = (properties: JsonObject, ...required: readonly string[]): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/** One that writes an event, or ends in a refusal. `check` throws if it is not allowed here. */
function operation(
  name: string,
  summary: string,
  schema: JsonObject,
  answers: "Done" | "Written",
  check?: (data: ConsoleData) => void,
): ConsoleRoute {
  return {
    verb: "POST",
    path: `/actors/:kind/:key/${name}`,
    summary,
    body: schema,
    answers,
    async handle(request, data) {
      const operate = operateOf(data);
      check?.(data);
      const reason = name === "stop" && { reason: DEFAULT_REASON };
      const done = await operate(name, { ...reason, ...request.body, actor: actorOf(request), as: operatorOf(request) });
      return answers === "Done" ? ({ ok: true } satisfies Done) : writtenIn(done);
    },
  };
}

export const operationRoutes: readonly ConsoleRoute[] = [
  operation("stop", "Ends an actor, and its children with it.", body({ reason: REASON }), "Done"),
  operation("restart", "Drops an actor from memory and clears its failure; its state stays.", body({}), "Done"),
  operation(
    "fork",
    "Copies an actor as it was after an event, muted, under another key.",
    body({ to: { type: "string", description: "The id of the copy." }, at: SEQ }, "to"),
    "Written",
  ),
  operation(
    "revert",
    "Restores the state after an event, as a new event.",
    body({ to: SEQ, reason: REASON, force: { type: "boolean", description: "Also if later events sent messages." } }, "to", "reason"),
    "Written",
  ),
  operation(
    "checkpoint",
    "Writes the whole state as an event.",
    body({ erase: { type: "boolean", description: "Erase the bodies before it." } }),
    "Written",
  ),
  operation(
    "edit",
    "Writes another state, as an event with its reason and who did it.",
    body(
      {
        state: { description: "The whole of the new state." },
        patch: { description: "Instead: a JSON Merge Patch (RFC 7396)." },
        reason: REASON,
        head: { type: "string", description: "The event that was seen last: refused (CHANGED) if there is a later one." },
        force: { type: "boolean", description: "Also if it does not fit the state's schema (STATE_MISFIT)." },
      },
      "reason",
    ),
    "Written",
    ({ about, edit }) => {
      if (!about.development && edit !== true) throw editsOff();
    },
  ),
  {
    verb: "POST",
    path: "/batch",
    summary: "One operation on many actors or dead letters, in order; those that fail are listed.",
    body: body(
      {
        operation: { type: "string", enum: ["stop", "restart", "replay-letter", "drop-letter"] },
        ids: { type: "array", items: { type: "string" }, minItems: 1, maxItems: MAX_IDS },
        reason: REASON,
      },
      "operation",
      "ids",
    ),
    answers: "BatchOutcome",
    streams: true,
    handle: async (request, data) => await batch(request, operateOf(data)),
  },
];

/** Who operates, as events say. The holder of a token has no name. */
const operatorOf = ({ caller }: ConsoleRequest): string => caller.principal ?? "operator";

function operateOf({ operate }: ConsoleData): Operate {
  if (operate === undefined) throw notAvailable("Nothing can be changed here: this is a history that is only read.");
  return operate;
}

function writtenIn(done: Json): Written {
  const { actor, seq, head, sent, erased, signed, checked } = isJsonObject(done) ? done : {};
  if (!isActorId(actor) || typeof seq !== "number" || typeof head !== "string")
    throw new TypeError("The operation answered with no event.");
  return {
    actor,
    seq,
    head,
    ...(typeof sent === "number" && { sent }),
    ...(typeof erased === "number" && { erased }),
    ...(typeof signed === "boolean" && { signed }),
    ...(typeof checked === "boolean" && { checked }),
  };
}

// ── batches ─────────────────────────────────────────────────────────────────

/** More failures are counted only. */
const MAX_FAILURES = 1_000;
const AT_ONCE = 20;

async function batch(request: ConsoleRequest, operate: Operate): Promise<BatchOutcome> {
  const { operation: name, ids, reason = DEFAULT_REASON } = request.body;
  if (!isTexts(ids)) throw badRequest("ids must be a list of ids.");
  const one = operationOf(name, reason, operatorOf(request), operate);
  const failed: { readonly id: string; readonly code: string; readonly message: string }[] = [];
  let done = 0;
  for (const [n, id] of ids.entries()) {
    if (request.disconnected.aborted) break;
    try {
      await one(id);
      done += 1;
    } catch (error) {
      if (failed.length < MAX_FAILURES) failed.push({ id, ...failureOf(error) });
    }
    if ((n + 1) % AT_ONCE > 0) continue;
    request.emit("progress", { done: n + 1, total: ids.length });
    await yieldToEventLoop();
  }
  return { done, failed };
}

function operationOf(name: Json | undefined, reason: Json, as: string, operate: Operate): (id: string) => Promise<Json> {
  switch (name) {
    case "stop":
      return (actor) => operate("stop", { actor, reason, as });
    case "restart":
      return (actor) => operate("restart", { actor });
    case "replay-letter":
      return (id) => operate("letter", { id, fate: "replay" });
    case "drop-letter":
      return (id) => operate("letter", { id, fate: "drop" });
    default:
      throw badRequest("operation must be stop, restart, replay-letter or drop-letter.");
  }
}

function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof TroupeError || error instanceof OperationError || error instanceof RequestError)
    return { code: error.code, message: error.message };
  throw error;
}
