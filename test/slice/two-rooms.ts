import * as z from "zod";
import { actor, refuse } from "../../src/core/actor/index.ts";

/** A room has items and people; items enter and leave it by messages only. */
export const room = actor("room", {
  description: "A room.",
  per: "link",
  persistence: "disk",
  state: z.object({ items: z.array(z.string()).default([]), people: z.array(z.string()).default([]), places: z.number().default(9) }),
  tools: {
    pick_up: {
      description: "Take a thing that lies here.",
      input: z.object({ item: z.string() }),
      enabled: ({ state }) => state.items.length > 0 || "There is nothing here.",
      choices: { item: ({ state }) => [...state.items] },
      run({ state, args, viewer, send }) {
        const { self } = viewer;
        if (self === undefined) return refuse("Nobody is there to take it.");
        const at = state.items.indexOf(args.item);
        if (at < 0) refuse("It is gone.");
        state.items.splice(at, 1);
        send(self, "gain", { item: args.item });
        return `You take the ${args.item}.`;
      },
    },
    look: { description: "Look around.", view: ({ state }) => ({ items: [...state.items], people: [...state.people] }) },
  },
  resources: { here: { uri: "game://room/current", view: ({ state }) => ({ items: [...state.items], people: [...state.people] }) } },
  messages: {
    furnish: {
      input: z.object({ items: z.array(z.string()), places: z.number().default(9) }),
      run({ state, args }) {
        state.items.push(...args.items);
        state.places = args.places;
      },
    },
    put: {
      input: z.object({ item: z.string() }),
      run({ state, args }) {
        state.items.push(args.item);
      },
    },
    arrive: {
      input: z.object({ player: z.string() }),
      run({ state, args }) {
        if (state.people.includes(args.player)) return { there: true };
        if (state.people.length >= state.places) refuse("It is full.");
        state.people.push(args.player);
        return { there: true };
      },
    },
    leave: {
      input: z.object({ player: z.string() }),
      run({ state, args }) {
        const at = state.people.indexOf(args.player);
        if (at >= 0) state.people.splice(at, 1);
      },
    },
  },
});

/** A player is in one room. Before it leaves, it sends a request to the next room, whose answer is a message. */
export const player = actor("player", {
  description: "A player.",
  per: "user",
  persistence: "disk",
  state: z.object({
    room: z.string().default("hall"),
    bound: z.string().default(""),
    items: z.array(z.string()).default([]),
    lastMessage: z.string().default(""),
  }),
  links: { "": { kinds: ["room"], to: ({ state }) => room.id(state.room) } },
  tools: {
    move: {
      description: "Go to another room.",
      input: z.object({ to: z.enum(["hall", "cave"]) }),
      enabled: ({ state }) => state.bound === "" || "You are on your way.",
      choices: { to: ({ state }) => (state.room === "hall" ? ["cave"] : ["hall"]) },
      run({ state, args, self, send }) {
        state.bound = args.to;
        send(room.id(args.to), "arrive", { player: self }, { replyAs: "arrived" });
        return `You set out for the ${args.to}.`;
      },
    },
    drop: {
      description: "Put a thing down.",
      input: z.object({ item: z.string() }),
      enabled: ({ state }) => state.items.length > 0 || "You carry nothing.",
      choices: { item: ({ state }) => [...state.items] },
      run({ state, args, send }) {
        state.items.splice(state.items.indexOf(args.item), 1);
        send(room.id(state.room), "put", { item: args.item });
        return `You drop the ${args.item}.`;
      },
    },
    inventory: { description: "What you carry.", view: ({ state }) => [...state.items] },
  },
  resources: { state: { uri: "game://player/state", view: ({ state }) => state } },
  messages: {
    gain: {
      input: z.object({ item: z.string() }),
      run({ state, args }) {
        state.items.push(args.item);
      },
    },
    arrived: {
      replies: true,
      run({ state, args, self, send }) {
        const { reply } = args;
        if ("ok" in reply) {
          send(room.id(state.room), "leave", { player: self });
          state.room = state.bound;
          state.lastMessage = "";
        } else state.lastMessage = "refused" in reply ? reply.refused.message : "";
        state.bound = "";
      },
    },
  },
});
