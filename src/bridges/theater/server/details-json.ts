// Owns: an actor's manifest and metrics in Theater's JSON. Does not own: where they come from (stage.ts).
import { parse } from "smol-toml";
import { isList, type Json } from "../../../core/contract/index.ts";
import type { StageDetails, StageMetrics } from "../stage.ts";
import type { Printable } from "../wire/wire-json.ts";

/** Handlers in Theater's `ManifestConfig`. Clients in Rust reject a config with any other. */
const KNOWN_HANDLERS: ReadonlySet<unknown> = new Set([
  "message-server",
  "filesystem",
  "http-client",
  "http-framework",
  "runtime",
  "supervisor",
  "store",
  "timing",
  "process",
  "environment",
  "random",
]);
const MAX_DEPTH = 8;

type Table = { readonly [name: string]: unknown };
const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
const firstText = (table: Table, ...names: readonly string[]): string | undefined => {
  const found = names.map((name) => table[name]).find((value) => typeof value === "string");
  return typeof found === "string" ? found : undefined;
};

function printable(value: unknown, depth = 0): Printable {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number" || typeof value === "bigint") return value;
  if (value instanceof Date) return value.toISOString();
  if (depth >= MAX_DEPTH) return null;
  if (isList(value)) return value.map((item) => printable(item, depth + 1));
  if (isTable(value)) return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, printable(part, depth + 1)]));
  return null;
}

/** `type` with a `config`, or with inline fields as in manifests since July 2025. */
function handlerConfig(value: unknown): readonly Printable[] {
  if (!isTable(value) || !KNOWN_HANDLERS.has(value["type"])) return [];
  const { type, config, ...inline } = value;
  return [{ type: printable(type), config: printable(isTable(config) ? config : inline) }];
}

function parseTable(content: string | undefined): Table {
  try {
    return content === undefined ? {} : parse(content);
  } catch {
    return {};
  }
}

/**
 * An actor's `ManifestConfig` with the fields of all Theater versions: `component_path` for clients of April 2025, `component` and
 * `version` for later ones. Without a manifest it holds the actor's name and what it was started from.
 */
export function manifestConfig({ name, manifest, manifestContent }: StageDetails): Printable {
  const table = parseTable(manifestContent);
  const component = firstText(table, "component", "component_path", "package") ?? manifest ?? "";
  const handlers = [table["handlers"], table["handler"]].flatMap((list) => (isList(list) ? list : [])).flatMap(handlerConfig);
  return {
    name: firstText(table, "name") ?? name,
    version: firstText(table, "version") ?? "0.0.0",
    component,
    component_path: component,
    description: firstText(table, "description") ?? null,
    long_description: firstText(table, "long_description") ?? null,
    save_chain: typeof table["save_chain"] === "boolean" ? table["save_chain"] : null,
    init_state: firstText(table, "init_state", "initial_state") ?? null,
    handlers,
  };
}

const NANOSECONDS_PER_MS = 1_000_000;
const nanoseconds = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * NANOSECONDS_PER_MS));
const seconds = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1_000));

/** Theater's metrics in its units. Values that are not measured are null, where Theater has 0. */
export function metricsJson(metrics: StageMetrics | null, now: number): Json {
  const startedAt = metrics?.startedAt ?? null;
  return {
    operation_metrics: {
      total_operations: metrics?.operations ?? null,
      failed_operations: metrics?.failedOperations ?? null,
      total_processing_time: nanoseconds(metrics?.totalMs ?? null),
      max_processing_time: nanoseconds(metrics?.maxMs ?? null),
      min_processing_time: nanoseconds(metrics?.minMs ?? null),
    },
    resource_metrics: {
      memory_usage: metrics?.memoryBytes ?? null,
      operation_queue_size: metrics?.queued ?? null,
      peak_memory_usage: null,
      peak_queue_size: null,
    },
    last_update: seconds(metrics?.lastAt ?? null),
    uptime_secs: startedAt === null ? null : Math.max(0, seconds(now - startedAt) ?? 0),
    start_time: seconds(startedAt),
  };
}
