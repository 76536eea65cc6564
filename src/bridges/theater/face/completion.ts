import { type Stage, type StageActor, StageError } from "../stage.ts";

// The most that MCP allows in one answer.
const MAX_VALUES = 100;
// Each name is looked up, since only a unique one can replace an id.
const MAX_LOOKUPS = 20;

/** Ids, given names and unique names that begin with `typed`. An actor whose name may be ambiguous is completed by its id. */
export async function completeActor(stage: Pick<Stage, "list" | "actor">, typed: string, limit: number): Promise<readonly string[]> {
  const prefix = typed.toLowerCase();
  const matches = (text: string | undefined): text is string => text?.toLowerCase().startsWith(prefix) === true;
  try {
    const actors = await stage.list(limit);
    const byId = actors.filter(({ id }) => matches(id)).map(({ id }) => id);
    if (prefix === "") return byId.slice(0, MAX_VALUES);
    const given = actors.map((actor) => actor.given).filter(matches);
    const byName = actors.filter((actor) => !matches(actor.given) && matches(actor.name)).slice(0, MAX_VALUES);
    let lookups = 0;
    const names = await Promise.all(
      byName.map(async (actor) => {
        const { id, name } = actor;
        if (isAmbiguous(actors, actor) || (lookups += 1) > MAX_LOOKUPS) return id;
        const found = await stage.actor(name).catch(() => undefined);
        return found?.id === id ? name : id;
      }),
    );
    return [...new Set([...given, ...names, ...byId])].slice(0, MAX_VALUES);
  } catch (error) {
    if (error instanceof StageError) return [];
    throw error;
  }
}

const isAmbiguous = (actors: readonly StageActor[], { id, name }: StageActor): boolean =>
  actors.some((other) => other.id !== id && (other.name === name || other.given === name));
