import * as fc from "fast-check";
import type { JsonObject, Json } from "../../core/contract/index.ts";

const context = {
  user_id: "user_456",
  session_id: "sess_abc",
  trace_id: "trace_xyz",
};

/** The packets in the specification. */
export const SPECIFIED: { readonly requests: readonly JsonObject[]; readonly replies: readonly JsonObject[] } = {
  requests: [
    {
      version: "1.0",
      type: "actor_message",
      intent: "Interact with stateful capability actor",
      capability_id: "research_assistant",
      actor_id: "actor_12345",
      payload: { message: "What did we discuss about user retention?", message_type: "conversation" },
      context: { ...context, timestamp: "2025-07-31T10:30:00Z" },
      actor_options: { create_if_missing: true, state_timeout: 1_800_000, persistence: "memory" },
    },
    {
      version: "1.0",
      type: "mcp_request",
      intent: "Execute MCP protocol request",
      capability_id: "mcp_bridge",
      payload: {
        mcp_message: {
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "web_search", arguments: { query: "PacketFlow framework", max_results: 5 } },
        },
      },
      context,
    },
  ],
  replies: [
    {
      version: "1.0",
      type: "capability_error",
      capability_id: "research_assistant",
      payload: {
        error: {
          type: "actor_timeout",
          message: "Actor did not respond within timeout period",
          details: { actor_id: "actor_12345", timeout_ms: 30_000 },
        },
      },
    },
  ],
};

const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 2 }).map((value): Json => JSON.parse(JSON.stringify(value)));
const bag = fc.dictionary(fc.string({ maxLength: 8 }), json, { maxKeys: 3 });
/** Around the limit of an id, in bytes and in characters. */
const edge = fc
  .tuple(fc.constantFrom("x", "é", "語", "😀"), fc.constantFrom(64, 65, 85, 86, 128, 129, 256, 257))
  .map(([unit, times]) => unit.repeat(times));
const id = fc.oneof(
  { weight: 12, arbitrary: fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }) },
  { weight: 1, arbitrary: edge },
);
const intent = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 20, unit: "grapheme" }) },
  { weight: 1, arbitrary: fc.constantFrom("x".repeat(4_096), "x".repeat(4_097), "語".repeat(1_365), "語".repeat(1_366)) },
);
const options = fc.record(
  {
    create_if_missing: fc.boolean(),
    state_timeout: fc.oneof(
      { weight: 6, arbitrary: fc.double({ min: 0.001, max: 1e9, noNaN: true }) },
      { weight: 1, arbitrary: fc.constantFrom(3_155_760_000_000, 3_155_760_000_001) },
    ),
    persistence: fc.constantFrom("memory", "disk", "distributed"),
  },
  { requiredKeys: [] },
);
const contexts = fc.record(
  { user_id: id, session_id: id, trace_id: id, timestamp: fc.constant("2025-07-31T10:30:00Z"), tenant: json },
  { requiredKeys: [] },
);
const shared = { id, intent, actor_id: id, context: contexts, actor_options: options, metadata: bag };
type Members = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const request = (type: string, needed: Members, free: Members): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      fc.record({ ...shared, ...free }, { requiredKeys: [] }),
      fc.record({ version: fc.constant("1.0"), type: fc.constant(type), ...needed }),
    )
    .map(([may, must]) => ({ ...may, ...must }));

/** A packet of each type, valid except for the limits on lengths. */
export const anyRequest: fc.Arbitrary<JsonObject> = fc
  .oneof(
    request("capability_request", { capability_id: id }, { payload: bag }),
    request("actor_message", { capability_id: id }, { payload: bag }),
    request("mcp_request", { payload: fc.record({ mcp_message: bag }) }, { capability_id: id }),
    request("cancel", { payload: fc.record({ id }) }, { capability_id: id }),
    request("heartbeat", {}, { payload: bag, capability_id: id }),
  )
  .map((packet): JsonObject => JSON.parse(JSON.stringify(packet)));

const FIELDS = [
  "version",
  "type",
  "id",
  "intent",
  "capability_id",
  "actor_id",
  "payload",
  "context",
  "actor_options",
  "metadata",
  "__proto__",
  "toString",
];
const INNER: Readonly<Record<string, readonly string[]>> = {
  payload: ["mcp_message", "id", "__proto__"],
  context: ["user_id", "session_id", "trace_id", "timestamp", "__proto__", "constructor"],
  actor_options: ["create_if_missing", "state_timeout", "persistence", "__proto__"],
};
const wrong = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    false,
    0,
    -1,
    0.5,
    1e300,
    "",
    "1.0",
    "2.0",
    "heartbeat",
    "cancel",
    "mcp_request",
    "memory",
    [],
    {},
    [{}],
    { id: "a" },
    { user_id: 1 },
  ),
  fc.constantFrom<Json>(
    { mcp_message: [] },
    { state_timeout: 0 },
    { create_if_missing: "yes" },
    { persistence: "tape" },
    { tenant: "x".repeat(16_384) },
  ),
  edge,
  json,
);
const change = fc.oneof(
  fc.tuple(fc.constantFrom(...FIELDS), fc.option(wrong, { nil: undefined })).map(([name, to]) => ({ path: [name], to })),
  fc
    .constantFrom(...Object.keys(INNER))
    .chain((name) => fc.tuple(fc.constant(name), fc.constantFrom(...(INNER[name] ?? [])), fc.option(wrong, { nil: undefined })))
    .map(([name, inner, to]) => ({ path: [name, inner], to })),
);

/** A packet with members removed or replaced. */
export const anyMutant: fc.Arbitrary<Json> = fc
  .tuple(anyRequest, fc.array(change, { minLength: 1, maxLength: 3 }))
  .map(([packet, changes]) => changes.reduce<Json>((value, { path, to }) => changed(value, path, to), packet));

function changed(value: Json, [name, ...rest]: readonly string[], to: Json | undefined): Json {
  if (name === undefined) return to ?? null;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).filter(([key]) => key !== name);
  const before = Object.entries(value).find(([key]) => key === name)?.[1];
  if (rest.length > 0) return before === undefined ? value : Object.fromEntries([...members, [name, changed(before, rest, to)]]);
  return Object.fromEntries(to === undefined ? members : [...members, [name, to]]);
}
