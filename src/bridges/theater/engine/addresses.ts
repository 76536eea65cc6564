import type { ActorId, Engine, Snapshot } from "../../../core/contract/index.ts";
import { GUEST } from "../../wasm/index.ts";
import { StageError } from "../stage.ts";
import { guestIn } from "./guest-in.ts";

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;
const ID = /^[a-z][a-z0-9-]{0,63}\/[^/]{1,768}$/u;
const MOST_NAME_BYTES = 256;

const isId = (text: string): text is ActorId => ID.test(text);

/** An actor of that kind, by its name. Throws `InvalidRequest` where that cannot be one. */
export function actorNamed(kind: string, name: string): ActorId {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > MOST_NAME_BYTES)
    throw new StageError("InvalidRequest", `A name is text of 1 to ${MOST_NAME_BYTES} bytes; this one has ${bytes}.`);
  if (!name.isWellFormed()) throw new StageError("InvalidRequest", "This name holds half a character: choose another name.");
  return `${kind}/${encodeURIComponent(name)}`;
}

/** The same of a guest, which its name alone stands for. */
export function guestNamed(name: string): ActorId {
  // A name that looks like an id would name another actor than itself.
  if (UUID.test(name) || isId(name)) throw new StageError("InvalidRequest", `"${name}" looks like an actor's id: choose another name.`);
  return actorNamed(GUEST, name);
}

export const notFound = (id: string): StageError =>
  new StageError(
    "ActorNotFound",
    `There is no actor ${JSON.stringify(id.slice(0, 200))}: list_actors tells who is there, by their ids, the names given to them, and names that stand for them where only one has it.`,
  );

/** Of whoever has that UUID, that `kind/key`, or, a guest, that name. Throws `ActorNotFound`. */
export async function addressed(engine: Pick<Engine, "find">, id: string): Promise<ActorId> {
  if (UUID.test(id)) {
    const found = await engine.find(id.toLowerCase());
    if (found === undefined) throw notFound(id);
    return found;
  }
  if (isId(id)) return id;
  if (id === "" || Buffer.byteLength(id) > MOST_NAME_BYTES || !id.isWellFormed()) throw notFound(id);
  return `${GUEST}/${encodeURIComponent(id)}`;
}

/** Of more guests than these a name is not looked for: it could be another's as well. */
const MOST_NAMED = 1_000;

/** The only one of those that run whose manifest has that name. Throws `InvalidRequest` where there are several. */
export async function named(engine: Pick<Engine, "count" | "list" | "read">, name: string): Promise<Snapshot | undefined> {
  if (UUID.test(name) || isId(name)) return undefined;
  if ((await engine.count({ kind: GUEST, live: true })) > MOST_NAMED) return undefined;
  const changes = await engine.list({ kind: GUEST, live: true, limit: MOST_NAMED });
  const read = await Promise.all(changes.map(({ id }) => engine.read(id)));
  const [found, ...others] = read.filter((snapshot) => snapshot !== undefined && guestIn(snapshot)?.name === name);
  if (others.length === 0) return found;
  throw new StageError("InvalidRequest", `${others.length + 1} actors are called ${JSON.stringify(name)}: say which by its id.`);
}
