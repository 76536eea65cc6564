// What is played, and what stands beside it. Nothing here knows how it will be reached.
import { capability } from "troupe/packet";
import { loadWorld, mud, worlds } from "troupe/mud";
import { registry, tool } from "troupe/source";
import * as z from "zod";

const world = loadWorld(worlds[0] ?? "");

/** The MUD's actors: players, rooms, names, and who is about. */
export const kinds = mud(world);

/** A capability of our own: over packets as it is, over MCP a tool. It ends in the same player. */
export const walk = capability("walk", {
  intent: "Walk north, south, east or west in the dungeon",
  requires: ["direction"],
  execute: async ({ direction }, { call }) => ({ story: await call("player", { tool: "move", direction }) }),
});

/** A tool without an actor behind it: the world as it is printed, the same for everybody. */
export const signposts = registry({
  name: "signposts",
  tools: {
    signpost: tool({
      description: "Where the exits of a room lead",
      input: z.object({ room: z.string() }),
      annotations: { readOnlyHint: true },
      work: ({ args }) => Object.keys(world.rooms[args.room]?.exits ?? {}).join(", ") || "There is no such room, or no way out of it.",
    }),
  },
});
