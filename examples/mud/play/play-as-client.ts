import { homesOf, roomOf, type World } from "../world/world.ts";
import { type Advice, advise, type Facts } from "./bot.ts";

/** The operations of a client. Both return text. */
export interface ClientHands {
  call(tool: string, args: Readonly<Record<string, string>>): Promise<string>;
  read(uri: string): Promise<string>;
}

interface Seen {
  readonly items: readonly string[];
  readonly monster: boolean;
  readonly chestOpen: boolean;
}

/**
 * The bot as a client: it knows the file of the world, and the game only through tools and resources. Plays until the ending, with at most
 * `most` calls, and returns the last text. Throws if it is stuck.
 */
export async function playAsClient(world: World, hands: ClientHands, most = 600): Promise<string> {
  const memory = new Memory(world);
  let last = "";
  for (let step = 0; step < most; step += 1) {
    memory.look(JSON.parse(await hands.read("game://player/state")), JSON.parse(await hands.read("game://room/current")));
    const advice = memory.advice();
    if (advice === "done") return last;
    if (advice === "wait") throw new Error(`Nothing can be done until something has grown again. Last: ${last}`);
    const { tool, ...args } = advice;
    last = await hands.call(tool, args);
    memory.hear(tool, last);
  }
  throw new Error(`No ending after ${most} calls. Last: ${last}`);
}

const record = (value: unknown): Readonly<Record<string, unknown>> => (typeof value === "object" && value !== null ? { ...value } : {});
const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((one) => typeof one === "string") : []);

/** The state of the game as far as the client has read it. */
class Memory {
  readonly #world: World;
  readonly #seen = new Map<string, Seen>();
  readonly #hero: {
    room: string;
    health: number;
    items: string[];
    deeds: string[];
    quests: Record<string, "active" | "completed">;
    ended: boolean;
  };
  #engaged = false;

  constructor(world: World) {
    this.#world = world;
    this.#hero = { room: world.start, health: world.hero.health, items: [], deeds: [], quests: {}, ended: false };
  }

  look(state: unknown, room: unknown): void {
    const mine = record(state);
    const here = record(room);
    if (typeof mine["room"] === "string" && mine["room"] !== this.#hero.room) this.#engaged = false;
    if (typeof mine["room"] === "string") this.#hero.room = mine["room"];
    if (typeof mine["health"] === "number") this.#hero.health = mine["health"];
    this.#hero.items = [...texts(mine["inventory"])];
    if (here["lit"] !== true || here["id"] !== this.#hero.room) return;
    const items = Array.isArray(here["items"]) ? here["items"].map((item) => String(record(item)["id"])) : [];
    this.#seen.set(this.#hero.room, { items, monster: here["monster"] !== null, chestOpen: record(here["chest"])["open"] === true });
  }

  hear(tool: string, text: string): void {
    if (tool === "accept_quest") {
      for (const [id, quest] of Object.entries(this.#world.quests)) if (text.includes(quest.active)) this.#hero.quests[id] = "active";
    }
    for (const [id, quest] of Object.entries(this.#world.quests))
      if (text.includes(`Quest completed: ${quest.completed}`)) this.#hero.quests[id] = "completed";
    const monster = roomOf(this.#world, this.#hero.room).monster;
    if (monster !== undefined && text.includes("You have defeated")) {
      if (!this.#hero.deeds.includes(monster)) this.#hero.deeds.push(monster);
      this.#engaged = false;
    } else if (tool === "battle") this.#engaged = true;
    if (text.includes("You fall,")) {
      this.#engaged = false;
      this.#seen.clear();
    }
    if (text.includes(this.#world.ending.text)) this.#hero.ended = true;
  }

  advice(): Advice {
    return advise(this.#world, this.#facts());
  }

  #facts(): Facts {
    return {
      hero: this.#hero,
      engaged: this.#engaged,
      where: (item) => {
        if (this.#hero.items.includes(item)) return undefined;
        for (const [room, seen] of this.#seen) if (seen.items.includes(item)) return { room, place: "floor" };
        const home = homesOf(this.#world).get(item);
        const seen = home === undefined ? undefined : this.#seen.get(home.room);
        if (home === undefined || seen === undefined) return home;
        // The room was visited, and the item is not there: it is carried or consumed.
        const isMissing =
          home.place === "floor" || (home.place === "chest" && seen.chestOpen) || (home.place === "monster" && !seen.monster);
        return isMissing ? undefined : home;
      },
      alive: (room) => roomOf(this.#world, room).monster !== undefined && (this.#seen.get(room)?.monster ?? true),
    };
  }
}
