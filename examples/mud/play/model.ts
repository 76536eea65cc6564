import { type Direction, homesOf, itemOf, monsterOf, roomOf, type World } from "../world/world.ts";
import { type Dice, diceOf } from "../rules/dice.ts";
import { armsOf, FLEE_SUCCEEDS, strikeHero, strikeMonster } from "../rules/fight.ts";
import { accept, advance, enter, gain, heal, type HeroState, lose, newHero, suffer } from "../rules/hero.ts";
import { openWays, passage } from "../rules/passage.ts";
import {
  putHome,
  isLit,
  monsterHere,
  newStage,
  openChest,
  restoreMonster,
  returnsFor,
  type Stage,
  takeFromFloor,
  woundMonster,
} from "../rules/stage.ts";

/** One thing a player does. */
export type Act =
  | { readonly tool: "move"; readonly direction: Direction }
  | { readonly tool: "pick_up" | "drop" | "use"; readonly item: string }
  | { readonly tool: "battle" | "flee" | "open_chest" | "accept_quest" };

/** A synchronous model of the game for one hero, to compare the actors with. */
export class Model {
  readonly world: World;
  readonly hero: HeroState;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly #dice: Dice;
  /** Used up, until time passes. */
  readonly resting: string[] = [];
  engaged = false;

  constructor(world: World, seed = 1) {
    this.world = world;
    this.hero = newHero(world);
    this.stages = new Map(Object.keys(world.rooms).map((id) => [id, newStage(world, id)]));
    this.#dice = diceOf(seed);
  }

  stage(room = this.hero.room): Stage {
    const stage = this.stages.get(room);
    if (stage === undefined) throw new Error(`The world has no room ${room}.`);
    return stage;
  }

  /** Performs an act. A refused act changes nothing. */
  act(act: Act): { readonly ok: string } | { readonly refused: string } {
    const { world, hero } = this;
    const stage = this.stage();
    const lit = isLit(world, hero.room, stage, hero.items);
    switch (act.tool) {
      case "move": {
        if (this.engaged) return { refused: "You are in a fight." };
        const step = passage(world, hero.room, act.direction, hero);
        if ("refused" in step) return step;
        return { ok: this.#enter(step.to) };
      }
      case "pick_up": {
        if (!lit) return { refused: "It is too dark." };
        if (!stage.floor.includes(act.item)) return { refused: "It is not here." };
        const full = gain(world, hero, act.item);
        if (full !== undefined) return { refused: full };
        takeFromFloor(stage, act.item);
        return { ok: this.#advance(`You take the ${itemOf(world, act.item).name}.`) };
      }
      case "drop":
        if (!lose(hero, act.item)) return { refused: "You do not have it." };
        stage.floor.push(act.item);
        return { ok: "Dropped." };
      case "use":
        return this.#use(act.item, stage);
      case "battle":
        return this.#battle(stage);
      case "flee": {
        if (!this.engaged) return { refused: "You are in no fight." };
        if (this.#dice() < FLEE_SUCCEEDS) {
          const way = openWays(world, hero.room, hero)[0];
          if (way !== undefined) return { ok: this.#enter(way.to) };
        }
        return { ok: this.#suffer(roomOf(world, hero.room).monster ?? "") };
      }
      case "open_chest": {
        if (!lit) return { refused: "It is too dark." };
        const opened = openChest(world, hero.room, stage, hero.items);
        return "refused" in opened ? opened : { ok: `You find: ${opened.items.join(", ")}.` };
      }
      default: {
        const text = accept(world, hero);
        return text === undefined ? { refused: "There is no quest here." } : { ok: this.#advance(text) };
      }
    }
  }

  /** Lets time pass: monsters return and consumed items grow again. */
  rest(): void {
    for (const [id, stage] of this.stages) restoreMonster(this.world, id, stage);
    for (const item of this.resting.splice(0)) this.#home(item);
  }

  /** The places of each item. */
  places(): ReadonlyMap<string, readonly string[]> {
    const places = new Map<string, string[]>();
    const put = (item: string, place: string): void => {
      places.set(item, [...(places.get(item) ?? []), place]);
    };
    for (const item of this.hero.items) put(item, "hero");
    for (const item of this.resting) put(item, "resting");
    for (const [room, stage] of this.stages) for (const item of [...stage.floor, ...stage.chest, ...stage.monsterItems]) put(item, room);
    return places;
  }

  #use(id: string, stage: Stage): { readonly ok: string } | { readonly refused: string } {
    const { world, hero } = this;
    const item = itemOf(world, id);
    const monster = monsterHere(world, hero.room, stage);
    if (item.heal === 0 && item.strike === 0) return { refused: "That is of no use here." };
    if (item.heal === 0 && monster === undefined) return { refused: "No enemies here." };
    if (!lose(hero, id)) return { refused: "You do not have it." };
    this.resting.push(id);
    if (item.heal > 0) return { ok: `You feel better: ${heal(world, hero, item.heal)}.` };
    this.engaged = true;
    return { ok: woundMonster(stage, item.strike).slain ? this.#slain(monster ?? "") : "It burns." };
  }

  #battle(stage: Stage): { readonly ok: string } | { readonly refused: string } {
    const { world, hero } = this;
    const id = monsterHere(world, hero.room, stage);
    if (id === undefined) return { refused: "No enemies here." };
    this.engaged = true;
    const dealt = strikeMonster(armsOf(world, hero.items, id), monsterOf(world, id), this.#dice);
    if (dealt > 0 && woundMonster(stage, dealt).slain) return { ok: this.#slain(id) };
    return { ok: this.#suffer(id) };
  }

  #slain(monster: string): string {
    this.engaged = false;
    if (!this.hero.deeds.includes(monster)) this.hero.deeds.push(monster);
    return this.#advance(`The ${monsterOf(this.world, monster).name} falls.`);
  }

  #suffer(monster: string): string {
    const { world, hero } = this;
    const damage = strikeHero(monsterOf(world, monster), armsOf(world, hero.items, monster), this.#dice);
    const { died, lost } = suffer(world, hero, damage);
    if (!died) return `It hits you for ${damage}.`;
    for (const item of lost) this.#home(item);
    return `You die. ${this.#enter(world.start)}`;
  }

  #enter(room: string): string {
    restoreIfAlive(this.world, this.hero.room, this.stage());
    this.engaged = false;
    enter(this.world, this.hero, room);
    if (returnsFor(this.world, room, this.stage(), this.hero.deeds)) restoreMonster(this.world, room, this.stage());
    return this.#advance(`You are in ${room}.`);
  }

  #advance(text: string): string {
    const { texts, home } = advance(this.world, this.hero);
    for (const item of home) this.#home(item);
    return [text, ...texts].join("\n");
  }

  #home(item: string): void {
    const home = homesOf(this.world).get(item);
    if (home !== undefined) putHome(this.world, home.room, this.stage(home.room), item);
  }
}

// The monster recovers when the hero leaves.
function restoreIfAlive(world: World, room: string, stage: Stage): void {
  if (stage.monsterHealth > 0) restoreMonster(world, room, stage);
}
