// A module as somebody has it who knows nothing of Troupe: `troupe serve hero.fixture.ts`.
import { Database } from "@adobe/data/ecs";
import { Observe } from "@adobe/data/observe";
import { AgenticService } from "@adobe/data/service";

const db = Database.create(
  Database.Plugin.create({
    resources: { health: { default: 100 }, alive: { default: true } },
    transactions: {
      damage: (t, n: number) => {
        t.resources.health = Math.max(0, t.resources.health - n);
        if (t.resources.health === 0) t.resources.alive = false;
      },
      revive: (t) => {
        t.resources.health = 50;
        t.resources.alive = true;
      },
    },
  }),
);
const { alive, health } = db.observe.resources;

const cat = AgenticService.create({
  interface: {
    mood: { type: "state", schema: { type: "string", enum: ["purring"] } },
    feed: { type: "action", description: "Feeds it.", parameters: [] },
  },
  implementation: { mood: Observe.fromConstant<"purring">("purring"), feed: () => undefined },
});

export default AgenticService.create({
  interface: {
    health: { type: "state", schema: { type: "number", minimum: 0, precision: 1, description: "What is left." } },
    picture: { type: "state", schema: { type: "blob", mediaType: "image/png" } },
    log: { type: "state", schema: { type: "array", items: { type: "string" } } },
    hurt: { type: "action", description: "Hurts.", parameters: [{ title: "by", type: "number", minimum: 1 }] },
    move: {
      type: "action",
      description: "Moves.",
      parameters: [
        { title: "x", type: "number" },
        { title: "y", type: "number" },
      ],
    },
    beg: { type: "action", description: "Begs.", parameters: [] },
    fall: { type: "action", description: "Falls.", parameters: [] },
    revive: { type: "action", description: "Revives.", parameters: [] },
    pet: { type: "link" },
  },
  implementation: {
    health,
    picture: Observe.fromConstant(new Uint8Array([137, 80, 78, 71])),
    log: Observe.fromConstant(Array.from({ length: 9_000 }, (_, i) => `line ${i}`)),
    hurt: (by: number) => db.transactions.damage(by),
    move: (x: number, y: number) => ({ x, y }),
    beg: () => "Nobody listens.",
    fall: () => {
      throw new Error("There is no ground.");
    },
    revive: () => db.transactions.revive(),
    pet: cat,
  },
  conditional: { hurt: alive, revive: Observe.withMap(alive, (is) => !is) },
});
