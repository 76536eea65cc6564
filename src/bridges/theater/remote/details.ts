import { hash } from "node:crypto";
import { omitUndefined } from "../../../core/contract/internal.ts";
import type { StageDetails, StageMetrics, StageStart, StageStatus } from "../stage.ts";
import { type Printable, printJson } from "../wire/index.ts";
import type { Calls } from "./calls.ts";
import type { EventReader } from "./event-reader.ts";
import type { KeptChains } from "./kept-chains.ts";
import { metricsOf } from "./metrics.ts";
import type { Settings } from "./options.ts";
import type { Listed } from "./roster.ts";

const LONGEST_MANIFEST = 65_536;
const MANIFESTS = 1_000;
const INDENT = 2;

type Told = Pick<StageDetails, "manifest" | "manifestContent">;

/** Details of one actor, combined from several answers. What the server does not report is omitted. */
export class Details {
  readonly #settings: Settings;
  readonly #calls: Calls;
  readonly #reader: EventReader;
  readonly #chains: KeptChains;
  /** Of actors started here, since Theater's own servers do not report them. */
  readonly #manifests = new Map<string, Told>();
  #tellsPauses = false;

  constructor(settings: Settings, calls: Calls, reader: EventReader, chains: KeptChains) {
    this.#settings = settings;
    this.#calls = calls;
    this.#reader = reader;
    this.#chains = chains;
  }

  started(id: string, { manifest }: StageStart): void {
    const isInline = manifest.includes("\n") || manifest.includes("=");
    const told = isInline
      ? { manifest: hash("sha256", manifest), ...(manifest.length <= LONGEST_MANIFEST ? { manifestContent: manifest } : {}) }
      : { manifest };
    this.#manifests.set(id, told);
    const [oldest] = this.#manifests.keys();
    if (this.#manifests.size > MANIFESTS && oldest !== undefined) this.#manifests.delete(oldest);
  }

  /** Undefined if the server no longer knows the actor. */
  async of({ id, name }: Listed): Promise<StageDetails | undefined> {
    const [status, metrics, manifest, chain] = await Promise.all([
      this.#status(id),
      this.#metrics(id),
      this.#manifest(id, name),
      // A chain too long to be sent must not hide the actor's other details.
      this.#reader.read(id, this.#settings.limits.probeMs, 1).catch(() => undefined),
    ]);
    if (status === "STOPPED") return undefined;
    const seen = chain ?? this.#chains.get(id);
    // Upstream pauses an actor after a failed call, but still reports it as running.
    const isPaused = status === "RUNNING" && !this.#tellsPauses && seen?.halted !== undefined;
    const shown = isPaused ? "PAUSED" : status;
    const createdAt = seen?.createdAt ?? metrics?.startedAt ?? undefined;
    return {
      id,
      name,
      status: shown,
      ...this.#manifests.get(id),
      ...manifest,
      ...omitUndefined({ createdAt }),
      metrics,
      ...(shown === "RUNNING" || seen?.halted === undefined ? {} : { halted: seen.halted }),
    };
  }

  /** For a list. Whether an upstream actor is paused is known only if its events were read. */
  async statuses(listed: readonly Listed[]): Promise<readonly StageStatus[]> {
    const statuses: StageStatus[] = [];
    for (const { id } of listed) {
      // The first answer shows whether the others are worth requesting.
      if (statuses.length === 0 || this.#tellsPauses) statuses.push(await this.#status(id));
      else statuses.push("RUNNING");
    }
    if (this.#tellsPauses) return statuses;
    return listed.map(({ id }) => (this.#chains.get(id)?.halted === undefined ? "RUNNING" : "PAUSED"));
  }

  async #status(id: string): Promise<StageStatus> {
    const answer = await this.#calls.read({ is: "GetActorStatus", id });
    this.#tellsPauses = answer?.tellsPauses === true;
    return answer?.status ?? "STOPPED";
  }

  async #metrics(id: string): Promise<StageMetrics | null> {
    const answer = await this.#calls.read({ is: "GetActorMetrics", id });
    return answer === undefined ? null : metricsOf(answer.metrics);
  }

  /** As JSON, which is what servers send. A server that does not name its actors does not know the command and would not answer. */
  async #manifest(id: string, name: string): Promise<Told> {
    if (name === id) return {};
    const answer = await this.#calls.read({ is: "GetActorManifest", id });
    if (answer === undefined) return {};
    const { manifest, origin } = answer;
    const from = origin === undefined ? {} : { manifest: origin };
    if (manifest === null) return from;
    return { ...from, manifestContent: typeof manifest === "string" ? manifest : this.#shown(manifest) };
  }

  #shown(manifest: Printable): string {
    return JSON.stringify(JSON.parse(printJson(manifest, this.#settings.limits.frameBytes).toString()), undefined, INDENT);
  }
}
