import { type ActorId, type ContentStore, type Engine, type Snapshot } from "../../../core/contract/index.ts";
import { kindOf, omitUndefined } from "../../../core/contract/internal.ts";
import type { Guests, GuestState } from "../../wasm/index.ts";
import { guestStateOf } from "./guest-in.ts";
import { UUID } from "./addresses.ts";
import type { StageActor, StageDetails, StageStatus } from "../stage.ts";

/** An actor's status in Theater's terms. */
const STAGE_STATUS = { live: "RUNNING", failed: "FAILED", stopped: "STOPPED" } as const satisfies Readonly<
  Record<Snapshot["status"], StageStatus>
>;

const statusOf = (status: Snapshot["status"], guest: GuestState | undefined): StageStatus =>
  status === "live" && guest?.status === "paused" ? "PAUSED" : STAGE_STATUS[status];

function givenName(id: ActorId): string | undefined {
  const key = decodeURIComponent(id.slice(id.indexOf("/") + 1));
  // A guest without a given name has a UUID as its key.
  return UUID.test(key) ? undefined : key;
}

export function stageActor(snapshot: Snapshot): StageActor {
  const guest = guestStateOf(snapshot);
  const { id, uid, status } = snapshot;
  const given = guest === undefined ? undefined : givenName(id);
  return {
    id: uid,
    name: guest === undefined || guest.name === "" ? id : guest.name,
    ...omitUndefined({ given }),
    status: statusOf(status, guest),
  };
}

const utf8 = new TextDecoder();

/** The event after which the actor processes no more messages, and why; undefined if it is running. */
export async function haltOf(engine: Pick<Engine, "history">, snapshot: Snapshot): Promise<StageDetails["halted"]> {
  const { id, head, status } = snapshot;
  if (status === "failed") return { after: head, why: "it could not be loaded or begun" };
  const guest = guestStateOf(snapshot);
  if (guest?.status !== "paused") return undefined;
  if (guest.failed === undefined) return { after: head, why: "its parent failed" };
  const { seq, message } = guest.failed;
  for await (const event of engine.history(id, seq - 1)) return { after: event.id, why: message };
  return { after: head, why: message };
}

export async function stageDetails(
  engine: Pick<Engine, "history" | "queued">,
  snapshot: Snapshot,
  contents: Pick<ContentStore, "get">,
  guests: Pick<Guests, "measured"> | undefined,
): Promise<StageDetails> {
  const { id, createdAt, lastMessageAt, messageCount } = snapshot;
  const guest = guestStateOf(snapshot);
  const text = guest === undefined || guest.manifest === "" ? undefined : await contents.get(guest.manifest);
  const halted = await haltOf(engine, snapshot);
  const measured = guest === undefined ? undefined : guests?.measured(id);
  return {
    ...stageActor(snapshot),
    manifest: guest === undefined ? `kind:${kindOf(id)}` : (guest.origin ?? `store:${guest.manifest}`),
    ...(text === undefined ? {} : { manifestContent: utf8.decode(text) }),
    createdAt,
    metrics: {
      operations: messageCount,
      failedOperations: measured?.failed ?? null,
      totalMs: measured?.totalMs ?? null,
      maxMs: measured?.maxMs ?? null,
      minMs: measured?.minMs ?? null,
      memoryBytes: measured?.memoryBytes ?? null,
      queued: engine.queued?.(id) ?? null,
      startedAt: createdAt,
      lastAt: lastMessageAt,
    },
    ...omitUndefined({ halted }),
  };
}
