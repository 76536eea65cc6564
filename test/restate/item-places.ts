import type { World } from "../../examples/mud/world/world.ts";
import type { Engine } from "../../src/core/contract/index.ts";
import { misplaced as misplacedIn } from "../mud-items.ts";

/** Items that are not in exactly one place, with where they are; one that is on its way from one to another is nowhere. */
export const misplaced = async (engine: Engine, world: World): Promise<readonly string[]> =>
  misplacedIn(world, {
    state: async (id) => (await engine.read(id))?.state,
    players: (await engine.list({ kind: "player", limit: 1_000 })).map(({ id }) => id),
  });
