import type { ActorId } from "../../../core/contract/index.ts";
import { GUEST } from "../guest-state.ts";
import { isGuestState } from "../guest/is-guest-state.ts";
import { whyPaused } from "../guest/why-paused.ts";
import type { CallHost } from "./call-host.ts";
import { isUuid } from "./derived.ts";

/** Whom a guest means: by UUID, by the unique name of a guest, or as `kind/key`. Throws where nobody lives under it. */
export async function targetOf({ of, gathered }: CallHost, name: string): Promise<ActorId> {
  if (name === of.uid) return of.message.to;
  const child = gathered.born.get(name) ?? own(of.state.children, name);
  const id = child ?? (isUuid(name) ? await of.engine.find(name) : isActorId(name) ? name : guestCalled(name));
  if (id === of.message.to) return id;
  if (id === undefined || !(await lives(of, id)))
    throw new Error(`There is no actor ${name.slice(0, 100)}: it has stopped, or never began.`);
  return id;
}

export async function lives({ engine }: Pick<CallHost["of"], "engine">, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now !== undefined && now.status !== "stopped";
}

/** Throws where it is a guest that is paused: it would refuse what is sent, and no one reads that reply. */
export async function refusePaused({ of }: CallHost, id: ActorId): Promise<void> {
  const state = (await of.engine.read(id))?.state;
  if (!isGuestState(state) || state.status !== "paused") return;
  // Paused with this parent, which runs again: it resumes before what is sent now arrives.
  if (state.failed === undefined && state.parent === of.message.to) return;
  throw new Error(`PAUSED: ${whyPaused(state)}`);
}

export const isGuest = (id: ActorId): boolean => id.startsWith(`${GUEST}/`);

const isActorId = (name: string): name is ActorId => /^[a-z][a-z0-9-]{0,63}\/[^/]{1,768}$/u.test(name) && isCanonical(name);

/** Another writing of a key than `encodeURIComponent`'s names nobody. */
function isCanonical(name: string): boolean {
  const key = name.slice(name.indexOf("/") + 1);
  try {
    return encodeURIComponent(decodeURIComponent(key)) === key;
  } catch {
    return false;
  }
}

function guestCalled(name: string): ActorId | undefined {
  return name === "" || name.length > 256 || !name.isWellFormed() ? undefined : `${GUEST}/${encodeURIComponent(name)}`;
}

const own = <V>(bag: Readonly<Record<string, V>>, key: string): V | undefined => (Object.hasOwn(bag, key) ? bag[key] : undefined);
