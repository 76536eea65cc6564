import { type Stage, type StageActor, StageError } from "../stage.ts";

// The most that MCP allows in one answer.
const MOST = 100;
// Each name is looked up, since only a unique one can replace an id.
const NAMES = 20;

/** Ids, given names and unique names that begin with `typed`. An actor whose name may be ambiguous is completed by its id. */
export async function completeActor(stage: Pick<Stage, "list" | "actor">, typed: string, limit: number): Promise<readonly string[]> {
  const begin = typed.toLowerCase();
  const fits = (text: string | undefined): text is string => text?.toLowerCase().startsWith(begin) === true;
  try {
    const actors = await stage.list(limit);
    const byId = actors.filter(({ id }) => fits(id)).map(({ id }) => id);
    if (begin === "") return byId.slice(0, MOST);
    const given = actors.map((actor) => actor.given).filter(fits);
    const byName = actors.filter((actor) => !fits(actor.given) && fits(actor.name)).slice(0, MOST);
    let looked = 0;
    const named = await Promise.all(
      byName.map(async (actor) => {
        const { id, name } = actor;
        if (isTaken(actors, actor) || (looked += 1) > NAMES) return id;
        const found = await stage.actor(name).catch(() => undefined);
        return found?.id === id ? name : id;
      }),
    );
    return [...new Set([...given, ...named, ...byId])].slice(0, MOST);
  } catch (error) {
    if (error instanceof StageError) return [];
    throw error;
  }
}

const isTaken = (actors: readonly StageActor[], { id, name }: StageActor): boolean =>
  actors.some((other) => other.id !== id && (other.name === name || other.given === name));
