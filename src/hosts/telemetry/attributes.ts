// Owns: the attributes of spans and metrics. Does not own: their values' source (core/contract/observer.ts).
import type { ObservedFailure, ObservedRequest } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Attributes } from "./open-telemetry-api.ts";

/** The methods that are reported by name. All others are one series, since clients could create any number of them. */
const METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "subscriptions/listen",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/update",
  "tasks/cancel",
]);

const methodOf = ({ method }: ObservedRequest): string => (METHODS.has(method) ? method : "_OTHER");

const transportOf = (peer: string | undefined): string | undefined => {
  if (peer === undefined) return undefined;
  if (peer === "stdio") return "pipe";
  return peer.startsWith("unix") ? "unix" : "tcp";
};

/** The attributes of a span at its start. */
export const spanAttributes = (request: ObservedRequest): Attributes => ({
  "mcp.method.name": request.method,
  "jsonrpc.request.id": String(request.id),
  ...omitUndefined({
    "mcp.protocol.version": request.revision,
    "mcp.session.id": request.session,
    "mcp.resource.uri": request.uri,
    "client.address": request.peer,
    "network.transport": transportOf(request.peer),
  }),
  ...nameOf(request),
});

/** The attributes of a duration: few values each, and none chosen by a client. A tool's name is known to the server once the tool has answered. */
export const metricAttributes = (request: ObservedRequest, failure: ObservedFailure | undefined): Attributes => ({
  "mcp.method.name": methodOf(request),
  ...omitUndefined({ "mcp.protocol.version": request.revision, "network.transport": transportOf(request.peer) }),
  ...(failure?.kind === "error" || failure?.kind === "cancelled" ? undefined : nameOf(request)),
  ...failureAttributes(failure),
});

export const failureAttributes = (failure: ObservedFailure | undefined): Attributes => {
  if (failure === undefined) return {};
  if (failure.kind === "tool") return { "error.type": "tool_error" };
  if (failure.code === undefined) return { "error.type": failure.kind };
  return { "error.type": String(failure.code), "rpc.response.status_code": String(failure.code) };
};

const nameOf = ({ method, name }: ObservedRequest): Attributes => {
  if (name === undefined) return {};
  return method === "tools/call" ? { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name } : { "gen_ai.prompt.name": name };
};
