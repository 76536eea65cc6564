// Owns: actors, states and events as JSON for MCP clients, and the URIs of their resources. Does not own: the schemas of that JSON
// (tool.ts).
import type { Json, JsonObject } from "../../../core/contract/index.ts";
import { omitUndefined, tryParseJson } from "../../../core/contract/internal.ts";
import { textOf } from "../../../core/platform/index.ts";
import type { StageActor, StageDetails, StageEvent, StageMetrics } from "../stage.ts";
import { encodeBase64 } from "./arguments.ts";

// JSON.parse takes any depth, but JSON.stringify recurses, and an actor's data may be too deep for it.
const MAX_DEPTH = 100;

/** Whether it is nested at most 100 levels deep. */
function isShallow(value: Json): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return false;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return true;
}

export const ACTORS_URI = "theater://actors";
export const actorUri = (id: string): string => `theater://actor/${encodeURIComponent(id)}`;
export const stateUri = (id: string): string => `${actorUri(id)}/state`;
export const eventsUri = (id: string): string => `theater://events/${encodeURIComponent(id)}`;
const eventUri = (id: string): string => `theater://event/${encodeURIComponent(id)}`;

// Later times have no ISO form and throw. A remote stage may send any number.
const MAX_TIME_MS = 8.64e15;

const isoTime = (ms: number): string => new Date(Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_TIME_MS) : 0).toISOString();

export const actorJson = ({ id, name, given, status }: StageActor): JsonObject => ({
  id,
  name,
  ...omitUndefined({ given_name: given }),
  status,
  uri: actorUri(id),
});

export function detailsJson(details: StageDetails): JsonObject {
  const { id, name, given, status, manifest, manifestContent, createdAt, metrics, halted } = details;
  return {
    id,
    name,
    ...omitUndefined({ given_name: given }),
    manifest: manifest ?? null,
    manifest_content: manifestContent ?? null,
    status,
    created_at: createdAt === undefined ? null : isoTime(createdAt),
    events_uri: eventsUri(id),
    state_uri: stateUri(id),
    metrics: metrics === null ? null : metricsJson(metrics),
    ...(halted === undefined ? {} : { halted: { after_event: halted.after, event_uri: eventUri(halted.after), why: halted.why } }),
  };
}

function metricsJson(metrics: StageMetrics): JsonObject {
  const { startedAt, lastAt } = metrics;
  return {
    operations: metrics.operations,
    failed_operations: metrics.failedOperations,
    total_ms: metrics.totalMs,
    max_ms: metrics.maxMs,
    min_ms: metrics.minMs,
    memory_bytes: metrics.memoryBytes,
    queued: metrics.queued,
    started_at: startedAt === null ? null : isoTime(startedAt),
    last_at: lastAt === null ? null : isoTime(lastAt),
  };
}

/** JSON text and its value; undefined if the bytes are something else, or nested too deep to be written again. */
function parseJson(bytes: Uint8Array): { readonly text: string; readonly value: Json } | undefined {
  const text = textOf(bytes);
  const value = tryParseJson(text);
  return text !== undefined && value !== undefined && isShallow(value) ? { text, value } : undefined;
}

export function stateJson(state: Uint8Array | undefined): Json {
  if (state === undefined) return { _state: "empty" };
  const json = parseJson(state);
  return json === undefined ? { _raw_state_base64: encodeBase64(state) } : json.value;
}

/** The same as text. The actor's own JSON is not printed anew, so that numbers beyond double precision stay exact. */
export function stateText(state: Uint8Array | undefined): string {
  return (state === undefined ? undefined : parseJson(state)?.text) ?? JSON.stringify(stateJson(state));
}

function dataJson(data: Json | Uint8Array): Json {
  if (!(data instanceof Uint8Array)) return data;
  const json = parseJson(data);
  return json === undefined ? { _raw_base64: encodeBase64(data) } : json.value;
}

export function eventJson({ id, actor, at, type, parent, data, children }: StageEvent): JsonObject {
  return {
    event_id: id,
    actor_id: actor,
    timestamp: isoTime(at),
    type,
    parent_id: parent,
    data: dataJson(data),
    children: children.map((child) => ({ id: child, uri: eventUri(child) })),
  };
}

/** As many events as fit in that many characters of JSON, at least one: the `first`, or the last. In their order. */
export function withinLength(events: readonly JsonObject[], maxLength: number, first: boolean): readonly JsonObject[] {
  const selected: JsonObject[] = [];
  let remaining = maxLength;
  for (const event of first ? events : events.toReversed()) {
    remaining -= JSON.stringify(event).length + 1;
    if (remaining < 0 && selected.length > 0) break;
    selected.push(event);
  }
  return first ? selected : selected.toReversed();
}
