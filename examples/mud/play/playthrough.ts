import { homesOf, roomOf, type World } from "../world/world.ts";
import { advise, type Facts } from "./bot.ts";
import { Model } from "./model.ts";

/** How a playthrough by the rules alone went. */
export interface Playthrough {
  readonly ended: boolean;
  readonly steps: number;
  readonly deaths: number;
  /** The last refusal, if there was one. */
  readonly refused?: string;
}

/** A careful player in the reference model, until the ending or `most` steps. */
export function playthrough(world: World, seed: number, most = 20_000, after?: (model: Model) => void): Playthrough {
  const model = new Model(world, seed);
  const facts = factsOf(model);
  for (let steps = 0; steps < most; steps += 1) {
    const advice = advise(world, facts);
    if (advice === "done") return { ended: true, steps, deaths: model.hero.deaths };
    if (advice === "wait") {
      model.rest();
      continue;
    }
    const result = model.act(advice);
    if ("refused" in result)
      return { ended: false, steps, deaths: model.hero.deaths, refused: `${JSON.stringify(advice)}: ${result.refused}` };
    after?.(model);
  }
  return { ended: false, steps: most, deaths: model.hero.deaths };
}

function factsOf(model: Model): Facts {
  const { world, hero } = model;
  return {
    hero,
    get engaged() {
      return model.engaged;
    },
    where(item) {
      for (const [room, stage] of model.stages) {
        if (stage.floor.includes(item)) return { room, place: "floor" };
        if (stage.chest.includes(item)) return { room, place: "chest" };
        if (stage.monsterItems.includes(item)) return { room, place: "monster" };
      }
      return undefined;
    },
    alive: (room) => roomOf(world, room).monster !== undefined && model.stage(room).monsterHealth > 0,
  };
}

/** Every item of a world must be in exactly one place; returns those that are not. */
export function misplaced(model: Model): readonly string[] {
  const places = model.places();
  return [...homesOf(model.world).keys()].filter((item) => places.get(item)?.length !== 1);
}
