import type { ActorId, Engine, Snapshot } from "../../../core/contract/index.ts";
import { GUEST } from "../../wasm/index.ts";
import { StageError } from "../stage.ts";
import { guestStateOf } from "./guest-in.ts";

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;
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
  if (UUID.test(name) || isActorAddress(name)) throw new StageError("InvalidRequest", `"${name}" looks like an actor's id: choose another name.`);
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
