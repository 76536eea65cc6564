// The actors, a capability and a tool, independent of how they are served.
import { capability } from "troupe/packet";
import { loadWorld, mud, worlds } from "troupe/mud";
import { registry, tool } from "troupe/source";
import * as z from "zod";

const world = loadWorld(worlds[0] ?? "");

/** The MUD's kinds: player, room, names and roster. */
export const kinds = mud(world);

/** A capability: over packets it is called by name, over MCP it is a tool. It calls the same player. */
export const walk = capability("walk", {
  intent: "Walk north, south, east or west in the dungeon",
  requires: ["direction"],
  execute: async ({ direction }, { call }) => ({ story: await call("player", { tool: "move", direction }) }),
});

/** A tool without an actor. It reads the world, which is the same for all players. */
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
