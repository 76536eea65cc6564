import { type ContentStore, isBag, type Snapshot } from "../../contract/index.ts";
import { GUEST, type GuestState } from "../../wasm/index.ts";
import type { StageActor, StageDetails, StageStatus } from "../stage.ts";

/** A guest's state, as its actor keeps it; undefined where the actor is no guest. */
export function guestIn({ id, state }: Pick<Snapshot, "id" | "state">): GuestState | undefined {
  if (!id.startsWith(`${GUEST}/`) || !isBag(state)) return undefined;
  return isGuest(state) ? state : undefined;
}

const isGuest = (state: Readonly<Record<string, unknown>>): state is Readonly<Record<string, unknown>> & GuestState =>
  typeof state["name"] === "string" && typeof state["manifest"] === "string" && typeof state["status"] === "string";

/** The one table of an actor's status. */
const STATUS = { live: "RUNNING", failed: "FAILED", stopped: "STOPPED" } as const satisfies Readonly<
  Record<Snapshot["status"], StageStatus>
>;

const statusOf = (status: Snapshot["status"], guest: GuestState | undefined): StageStatus =>
  status === "live" && guest?.status === "paused" ? "PAUSED" : STATUS[status];

export function actorOf(snapshot: Snapshot): StageActor {
  const guest = guestIn(snapshot);
  const { id, uid, status } = snapshot;
  return { id: uid, name: guest === undefined || guest.name === "" ? id : guest.name, status: statusOf(status, guest) };
}

const utf8 = new TextDecoder();

export async function detailsOf(snapshot: Snapshot, contents: Pick<ContentStore, "get">): Promise<StageDetails> {
  const { id, seq, createdAt, lastMessageAt, messageCount } = snapshot;
  const guest = guestIn(snapshot);
  const text = guest === undefined || guest.manifest === "" ? undefined : await contents.get(guest.manifest);
  const halted =
    guest?.status === "paused"
      ? { after: guest.failed?.seq ?? seq, why: guest.failed?.message ?? "its parent failed" }
      : snapshot.status === "failed"
        ? { after: seq, why: "it could not be loaded or begun" }
        : undefined;
  return {
    ...actorOf(snapshot),
    manifest: guest === undefined ? `kind:${id.slice(0, id.indexOf("/"))}` : (guest.origin ?? `store:${guest.manifest}`),
    ...(text === undefined ? {} : { manifestContent: utf8.decode(text) }),
    createdAt,
    metrics: {
      operations: messageCount,
      failedOperations: null,
      totalMs: null,
      maxMs: null,
      minMs: null,
      memoryBytes: null,
      queued: null,
      startedAt: createdAt,
      lastAt: lastMessageAt,
    },
    ...(halted === undefined ? {} : { halted }),
  };
}
