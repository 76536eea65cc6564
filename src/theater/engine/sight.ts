import { type ContentStore, type Engine, isBag, type Snapshot } from "../../contract/index.ts";
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

/** The event after which it takes nothing more, and why. Undefined: it plays. */
export async function haltOf(engine: Pick<Engine, "history">, snapshot: Snapshot): Promise<StageDetails["halted"]> {
  const { id, head, status } = snapshot;
  if (status === "failed") return { after: head, why: "it could not be loaded or begun" };
  const guest = guestIn(snapshot);
  if (guest?.status !== "paused") return undefined;
  if (guest.failed === undefined) return { after: head, why: "its parent failed" };
  const { seq, message } = guest.failed;
  for await (const event of engine.history(id, seq - 1)) return { after: event.id, why: message };
  return { after: head, why: message };
}

export async function detailsOf(
  engine: Pick<Engine, "history">,
  snapshot: Snapshot,
  contents: Pick<ContentStore, "get">,
): Promise<StageDetails> {
  const { id, createdAt, lastMessageAt, messageCount } = snapshot;
  const guest = guestIn(snapshot);
  const text = guest === undefined || guest.manifest === "" ? undefined : await contents.get(guest.manifest);
  const halted = await haltOf(engine, snapshot);
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
