import { type Stage, StageError } from "../stage.ts";

// The most that MCP lets one answer carry.
const MOST = 100;
// Each name is looked up: only one that names its actor can stand for it.
const NAMES = 20;

/** Ids and unique names that begin with what was typed; an actor of whose name that is not sure is given by its id. */
export async function completeActor(stage: Pick<Stage, "list" | "actor">, typed: string, limit: number): Promise<readonly string[]> {
  const begin = typed.toLowerCase();
  try {
    const actors = await stage.list(limit);
    const byId = actors.filter(({ id }) => id.toLowerCase().startsWith(begin)).map(({ id }) => id);
    if (begin === "") return byId.slice(0, MOST);
    const byName = actors.filter(({ name }) => name.toLowerCase().startsWith(begin)).slice(0, MOST);
    const named = await Promise.all(
      byName.map(async ({ id, name }, position) => {
        if (position >= NAMES) return id;
        const found = await stage.actor(name).catch(() => undefined);
        return found?.id === id ? name : id;
      }),
    );
    return [...new Set([...named, ...byId])].slice(0, MOST);
  } catch (error) {
    if (error instanceof StageError) return [];
    throw error;
  }
}
