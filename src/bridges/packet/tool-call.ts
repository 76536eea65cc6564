import type { JsonObject, CallOptions, Reply, Viewer } from "../../core/contract/index.ts";
import type { Capabilities } from "./capabilities.ts";
import type { Capability, OfferedTool } from "./capability.ts";
import { AnswersNeeded } from "./engine-error.ts";
import { PacketError } from "./packet-error.ts";
import { memberOf } from "./packet-json.ts";
import { requiredBy } from "./payload-check.ts";
import type { Ran, RunOptions } from "./running.ts";
import type { BookedTool } from "./tool-book.ts";
import { NOTHING_THERE, toolFailure, toolReply } from "./tool-reply.ts";
import { ACTOR_ID } from "./tool-schema.ts";

/** What runs behind a tool call. */
export interface Calling {
  readonly capabilities: Capabilities;
  readonly run: (capabilityId: string, payload: JsonObject, options: RunOptions) => Promise<Ran>;
  /** How long a tool call may take. Default 30,000. */
  readonly toolTimeoutMs?: number;
}

/** Runs the capability as the viewer. Throws only what is no `PacketError`. */
export async function callTool(
  { capabilities, run, toolTimeoutMs = 30_000 }: Calling,
  { capability, tool }: BookedTool,
  viewer: Viewer,
  args: JsonObject,
  options: CallOptions,
): Promise<Reply> {
  try {
    const { payload, actor_id } = payloadOf(capability, tool, args);
    const { result } = await run(capability.id, payload, {
      viewer,
      context: contextOf(viewer, options),
      timeoutMs: toolTimeoutMs,
      ...(actor_id !== undefined && { actor_id }),
      ...(options.signal && { signal: options.signal }),
      ...(options.key !== undefined && { key: options.key }),
      ...(options.onProgress && { onProgress: options.onProgress }),
      ...(options.onLog && { onLog: options.onLog }),
      ...(options.answers && { answers: options.answers }),
      ...(options.can && { can: options.can }),
    });
    return toolReply(result);
  } catch (error) {
    if (error instanceof AnswersNeeded) return { needs: error.needs };
    if (!(error instanceof PacketError)) throw error;
    // It went while it was called: the same answer as a moment later.
    const gone = error.type === "capability_not_found" && capabilities.get(capability.id) === undefined;
    return gone ? NOTHING_THERE : toolFailure(error);
  }
}

/** What runs is given, and for whom: `actor_id` names the actor, and is part of the payload only where that requires it. */
function payloadOf(
  capability: Capability,
  tool: OfferedTool,
  args: JsonObject,
): { readonly payload: JsonObject; readonly actor_id?: string } {
  const { does, requires, parameters } = capability;
  if (does.how === "tools") return { payload: { tool: tool.name, parameters: args } };
  const actor_id = memberOf(args, ACTOR_ID);
  if (does.how !== "actor" || actor_id === undefined) return { payload: args };
  if (typeof actor_id !== "string")
    throw new PacketError("validation_failed", `${ACTOR_ID} must be text.`, {
      issues: [{ path: `/${ACTOR_ID}`, message: "must be text" }],
    });
  if (requires.includes(ACTOR_ID) || requiredBy(parameters).includes(ACTOR_ID)) return { payload: args, actor_id };
  const { [ACTOR_ID]: _named, ...payload } = args;
  return { payload, actor_id };
}

const TRACE_ID = /^[0-9a-f]{2}-([0-9a-f]{32})-/;

function contextOf({ principal }: Viewer, { trace }: CallOptions): RunOptions["context"] {
  const parent = trace?.["traceparent"];
  const trace_id = typeof parent === "string" ? TRACE_ID.exec(parent)?.[1] : undefined;
  return { ...(principal !== undefined && { user_id: principal }), ...(trace_id !== undefined && { trace_id }) };
}
