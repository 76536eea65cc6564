import { textOf } from "../../../core/platform/index.ts";
import type { JsonObject, Json } from "../../../core/contract/index.ts";
import type { StageActor, StageDetails, StageEvent, StageMetrics } from "../stage.ts";
import { base64Of } from "./base64.ts";
import { isShallow } from "./depth.ts";

export const ACTORS_URI = "theater://actors";
export const actorUri = (id: string): string => `theater://actor/${encodeURIComponent(id)}`;
export const stateUri = (id: string): string => `${actorUri(id)}/state`;
export const eventsUri = (id: string): string => `theater://events/${encodeURIComponent(id)}`;
const eventUri = (id: string): string => `theater://event/${encodeURIComponent(id)}`;

// Later times have no ISO form and throw. A remote stage may send any number.
const LATEST_MS = 8.64e15;

const isoOf = (ms: number): string => new Date(Number.isFinite(ms) ? Math.min(Math.max(ms, 0), LATEST_MS) : 0).toISOString();

export const actorShown = ({ id, name, given, status }: StageActor): JsonObject => ({
  id,
  name,
  ...givenShown(given),
  status,
  uri: actorUri(id),
});

export const givenShown = (given: string | undefined): JsonObject => (given === undefined ? {} : { given_name: given });

export function detailsShown(details: StageDetails): JsonObject {
  const { id, name, given, status, manifest, manifestContent, createdAt, metrics, halted } = details;
  return {
    id,
    name,
    ...givenShown(given),
    manifest: manifest ?? null,
    manifest_content: manifestContent ?? null,
    status,
    created_at: createdAt === undefined ? null : isoOf(createdAt),
    events_uri: eventsUri(id),
    state_uri: stateUri(id),
    metrics: metrics === null ? null : metricsShown(metrics),
    ...(halted === undefined ? {} : { halted: { after_event: halted.after, event_uri: eventUri(halted.after), why: halted.why } }),
  };
}

function metricsShown(metrics: StageMetrics): JsonObject {
  const { startedAt, lastAt } = metrics;
  return {
    operations: metrics.operations,
    failed_operations: metrics.failedOperations,
    total_ms: metrics.totalMs,
    max_ms: metrics.maxMs,
    min_ms: metrics.minMs,
    memory_bytes: metrics.memoryBytes,
    queued: metrics.queued,
    started_at: startedAt === null ? null : isoOf(startedAt),
    last_at: lastAt === null ? null : isoOf(lastAt),
  };
}

/** JSON text and its value; undefined if the bytes are something else, or nested too deep to be written again. */
function jsonIn(bytes: Uint8Array): { readonly text: string; readonly value: Json } | undefined {
  const text = textOf(bytes);
  if (text === undefined) return undefined;
  try {
    const value: Json = JSON.parse(text);
    return isShallow(value) ? { text, value } : undefined;
  } catch {
    return undefined;
  }
}

export function stateShown(state: Uint8Array | undefined): Json {
  if (state === undefined) return { _state: "empty" };
  const json = jsonIn(state);
  return json === undefined ? { _raw_state_base64: base64Of(state) } : json.value;
}

/** The same as text. The actor's own JSON is not printed anew, so that numbers beyond double precision stay exact. */
export function stateText(state: Uint8Array | undefined): string {
  return (state === undefined ? undefined : jsonIn(state)?.text) ?? JSON.stringify(stateShown(state));
}

function dataShown(data: Json | Uint8Array): Json {
  if (!(data instanceof Uint8Array)) return data;
  const json = jsonIn(data);
  return json === undefined ? { _raw_base64: base64Of(data) } : json.value;
}

export function eventShown({ id, actor, at, type, parent, data, children }: StageEvent): JsonObject {
  return {
    event_id: id,
    actor_id: actor,
    timestamp: isoOf(at),
    type,
    parent_id: parent,
    data: dataShown(data),
    children: children.map((child) => ({ id: child, uri: eventUri(child) })),
  };
}

/** As many events as fit in that many characters of JSON, at least one: the `first`, or the last. In their order. */
export function fitting(events: readonly JsonObject[], maxLength: number, first: boolean): readonly JsonObject[] {
  const kept: JsonObject[] = [];
  let left = maxLength;
  for (const event of first ? events : events.toReversed()) {
    left -= JSON.stringify(event).length + 1;
    if (left < 0 && kept.length > 0) break;
    kept.push(event);
  }
  return first ? kept : kept.toReversed();
}
