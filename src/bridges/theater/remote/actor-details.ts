// Owns: details, status and metrics of one actor. Does not own: the list of actors (actor-list.ts).
import { hash } from "node:crypto";
import { isJsonObject, type Json } from "../../../core/contract/index.ts";
import { getOwn, omitUndefined } from "../../../core/contract/internal.ts";
import type { StageDetails, StageMetrics, StageStart, StageStatus } from "../stage.ts";
import { type Printable, printJson } from "../wire/wire-json.ts";
import type { ListedActor } from "./actor-list.ts";
import type { ChainCache } from "./chain-cache.ts";
import type { CommandClient } from "./command-client.ts";
import { isNotFound } from "./errors.ts";
import type { Settings } from "./options.ts";
import type { ChainReader } from "./remote-events.ts";

const NANOSECONDS = 1_000_000;

const field = (json: Json | undefined, name: string): Json | undefined => (isJsonObject(json) ? getOwn(json, name) : undefined);

const numberIn = (json: Json | undefined, name: string): number | null => {
  const value = field(json, name);
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
};
/** Upstream does not measure these, so 0 means unknown. */
const measured = (json: Json | undefined, name: string): number | null => numberIn(json, name) || null;
const scaled = (value: number | null, by: number): number | null => (value === null ? null : value * by);

/** Converts a server's metrics, in which durations are nanoseconds and times are seconds. */
export function readMetrics(json: Json): StageMetrics {
  const [operations, resources] = [field(json, "operation_metrics"), field(json, "resource_metrics")];
  return {
    operations: numberIn(operations, "total_operations"),
    failedOperations: measured(operations, "failed_operations"),
    totalMs: scaled(numberIn(operations, "total_processing_time"), 1 / NANOSECONDS),
    maxMs: scaled(numberIn(operations, "max_processing_time"), 1 / NANOSECONDS),
    minMs: scaled(numberIn(operations, "min_processing_time"), 1 / NANOSECONDS),
    memoryBytes: measured(resources, "memory_usage"),
    queued: measured(resources, "operation_queue_size"),
    startedAt: scaled(measured(json, "start_time"), 1_000),
    lastAt: scaled(measured(json, "last_update"), 1_000),
  };
}

const MAX_MANIFEST_LENGTH = 65_536;
const MAX_MANIFESTS = 1_000;
const INDENT = 2;

type ManifestDetails = Pick<StageDetails, "manifest" | "manifestContent">;

/** Details of one actor, combined from several answers. What the server does not report is omitted. */
export class ActorDetails {
  readonly #settings: Settings;
  readonly #commands: CommandClient;
  readonly #chainReader: ChainReader;
  readonly #chains: ChainCache;
  /** Of actors started here, since Theater's own servers do not report them. */
  readonly #manifests = new Map<string, ManifestDetails>();
  #reportsPauses = false;

  constructor(settings: Settings, commands: CommandClient, chainReader: ChainReader, chains: ChainCache) {
    this.#settings = settings;
    this.#commands = commands;
    this.#chainReader = chainReader;
    this.#chains = chains;
  }

  recordStart(id: string, { manifest }: StageStart): void {
    const isInline = manifest.includes("\n") || manifest.includes("=");
    const manifestDetails = isInline
      ? { manifest: hash("sha256", manifest), ...(manifest.length <= MAX_MANIFEST_LENGTH ? { manifestContent: manifest } : {}) }
      : { manifest };
    this.#manifests.set(id, manifestDetails);
    const [oldest] = this.#manifests.keys();
    if (this.#manifests.size > MAX_MANIFESTS && oldest !== undefined) this.#manifests.delete(oldest);
  }

  /** Undefined if the server no longer knows the actor. */
  async of({ id, name }: ListedActor): Promise<StageDetails | undefined> {
    const [status, metrics, manifest, chain] = await Promise.all([
      this.#status(id),
      this.#metrics(id),
      this.#manifest(id, name),
      // A chain too long to be sent must not hide the actor's other details.
      this.#chainReader.read(id, this.#settings.limits.probeMs, 1).catch(() => undefined),
    ]);
    if (status === "STOPPED") return undefined;
    const known = chain ?? this.#chains.get(id);
    // Upstream pauses an actor after a failed call, but still reports it as running.
    const isPaused = status === "RUNNING" && !this.#reportsPauses && known?.halted !== undefined;
    const reported = isPaused ? "PAUSED" : status;
    const createdAt = known?.createdAt ?? metrics?.startedAt ?? undefined;
    return {
      id,
      name,
      status: reported,
      ...this.#manifests.get(id),
      ...manifest,
      ...omitUndefined({ createdAt }),
      metrics,
      ...(reported === "RUNNING" || known?.halted === undefined ? {} : { halted: known.halted }),
    };
  }

  /** For a list. Whether an upstream actor is paused is known only if its events were read. */
  async statuses(actors: readonly ListedActor[]): Promise<readonly StageStatus[]> {
    const statuses: StageStatus[] = [];
    // The first answer shows whether the others are worth requesting.
    let size = 1;
    while (statuses.length < actors.length && (statuses.length === 0 || this.#reportsPauses)) {
      const batch = actors.slice(statuses.length, statuses.length + size);
      statuses.push(...(await Promise.all(batch.map(({ id }) => this.#status(id)))));
      size = this.#settings.limits.connections;
    }
    if (this.#reportsPauses) return statuses;
    return actors.map(({ id }) => (this.#chains.get(id)?.halted === undefined ? "RUNNING" : "PAUSED"));
  }

  /** Differs from an earlier answer if the actor has done anything in between. Undefined: the server did not say. */
  async activity(id: string): Promise<string | undefined> {
    const metrics = await this.#metrics(id);
    return metrics === null ? undefined : JSON.stringify([metrics.operations, metrics.failedOperations, metrics.lastAt]);
  }

  /** An actor that the server no longer knows has ended since it was listed. */
  async #status(id: string): Promise<StageStatus> {
    const answer = await this.#commands.read({ type: "GetActorStatus", id }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (answer !== undefined) this.#reportsPauses = answer.reportsPauses === true;
    return answer?.status ?? "STOPPED";
  }

  async #metrics(id: string): Promise<StageMetrics | null> {
    const answer = await this.#commands.read({ type: "GetActorMetrics", id });
    return answer === undefined ? null : readMetrics(answer.metrics);
  }

  /** As JSON, which is what servers send. A server that does not name its actors does not know the command and would not answer. */
  async #manifest(id: string, name: string): Promise<ManifestDetails> {
    if (name === id) return {};
    const answer = await this.#commands.read({ type: "GetActorManifest", id });
    if (answer === undefined) return {};
    const { manifest, origin } = answer;
    const details = omitUndefined({ manifest: origin });
    if (manifest === null) return details;
    return { ...details, manifestContent: typeof manifest === "string" ? manifest : this.#printManifest(manifest) };
  }

  #printManifest(manifest: Printable): string {
    return JSON.stringify(JSON.parse(printJson(manifest, this.#settings.limits.frameBytes).toString()), undefined, INDENT);
  }
}
