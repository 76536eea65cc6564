// Owns: how actors of the engine are addressed, and their status and details for a stage. Does not own: what is done with them
// (engine-stage.ts).
import { type ActorId, type ContentStore, type Engine, isJsonObject, type Snapshot } from "../../../core/contract/index.ts";
import { kindOf, omitUndefined } from "../../../core/contract/internal.ts";
import { GUEST, type Guests, type GuestState } from "../../wasm/index.ts";
import { type StageActor, type StageDetails, StageError, type StageStatus, UUID } from "../stage.ts";

/** A guest's stored state; undefined if the actor is not a guest. */
export function guestStateOf({ id, state }: Pick<Snapshot, "id" | "state">): GuestState | undefined {
  if (!id.startsWith(`${GUEST}/`) || !isJsonObject(state)) return undefined;
  return isGuestState(state) ? state : undefined;
}

const isGuestState = (state: Readonly<Record<string, unknown>>): state is Readonly<Record<string, unknown>> & GuestState =>
  typeof state["name"] === "string" && typeof state["manifest"] === "string" && typeof state["status"] === "string";

const ID = /^[a-z][a-z0-9-]{0,63}\/[^/]{1,768}$/u;
const MAX_NAME_BYTES = 256;

const isActorAddress = (text: string): text is ActorId => ID.test(text);

/** The id of an actor of that kind, by its name. Throws `InvalidRequest` if the name is not valid. */
export function actorIdOf(kind: string, name: string): ActorId {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > MAX_NAME_BYTES)
    throw new StageError("InvalidRequest", `A name is text of 1 to ${MAX_NAME_BYTES} bytes; this one has ${bytes}.`);
  if (!name.isWellFormed()) throw new StageError("InvalidRequest", "This name holds half a character: choose another name.");
  return `${kind}/${encodeURIComponent(name)}`;
}

/** The id of a guest. Its name may be used in place of the id. */
export function guestIdOf(name: string): ActorId {
  // A name that looks like an id would address another actor.
  if (UUID.test(name) || isActorAddress(name))
    throw new StageError("InvalidRequest", `"${name}" looks like an actor's id: choose another name.`);
  return actorIdOf(GUEST, name);
}

export const actorNotFound = (id: string): StageError =>
  new StageError(
    "ActorNotFound",
    `There is no actor ${JSON.stringify(id.slice(0, 200))}: list_actors tells who is there, by their ids, the names given to them, and names that stand for them where only one has it.`,
  );

/** Resolves a UUID, a `kind/key` or the name given to a guest. Throws `ActorNotFound`. */
export async function resolveAddress(engine: Pick<Engine, "find">, id: string): Promise<ActorId> {
  if (UUID.test(id)) {
    const found = await engine.find(id.toLowerCase());
    if (found === undefined) throw actorNotFound(id);
    return found;
  }
  if (isActorAddress(id)) return id;
  if (id === "" || Buffer.byteLength(id) > MAX_NAME_BYTES || !id.isWellFormed()) throw actorNotFound(id);
  return `${GUEST}/${encodeURIComponent(id)}`;
}

/** Manifest names are not searched among more guests than this: a partial search could miss a second actor of that name. */
const MAX_SEARCHED_GUESTS = 1_000;

/** The only running guest whose manifest has that name. Throws `InvalidRequest` if there are several. */
export async function findByManifestName(engine: Pick<Engine, "count" | "list" | "read">, name: string): Promise<Snapshot | undefined> {
  if (UUID.test(name) || isActorAddress(name)) return undefined;
  if ((await engine.count({ kind: GUEST, live: true })) > MAX_SEARCHED_GUESTS) return undefined;
  const changes = await engine.list({ kind: GUEST, live: true, limit: MAX_SEARCHED_GUESTS });
  const read = await Promise.all(changes.map(({ id }) => engine.read(id)));
  const [found, ...others] = read.filter((snapshot) => snapshot !== undefined && guestStateOf(snapshot)?.name === name);
  if (others.length === 0) return found;
  throw new StageError("InvalidRequest", `${others.length + 1} actors are called ${JSON.stringify(name)}: say which by its id.`);
}

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
    ...omitUndefined({ manifestContent: text && utf8.decode(text) }),
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
