import * as z from "zod";
import { actor, refuse } from "../../src/core/actor/index.ts";

/** Two kinds that reference each other: a player, and the room its link refers to. */
export const room = actor("room", {
  description: "A room.",
  per: "link",
  state: z.object({ items: z.array(z.string()).default([]), dark: z.boolean().default(false) }),
  tools: {
    pick_up: {
      description: "Takes a thing.",
      input: z.object({ item: z.string() }),
      enabled: ({ state }) => state.items.length > 0 || "There is nothing here.",
      choices: { item: ({ state }) => [...state.items] },
      run({ state, args, viewer, send }) {
        const at = state.items.indexOf(args.item);
        if (at < 0) refuse("It is gone.");
        state.items.splice(at, 1);
        if (viewer.self !== undefined) send(viewer.self, "gain", { item: args.item });
        return `You take the ${args.item}.`;
      },
    },
    switch: {
      description: "Turns the light on or off.",
      run({ state }) {
        state.dark = !state.dark;
        return "Click.";
      },
    },
    look: { description: "Looks around.", enabled: ({ state }) => !state.dark, view: ({ state }) => state.items.join(", ") },
  },
  resources: {
    things: { uri: "room://{alias}/things", view: ({ state }) => state.items },
    light: { uri: "room://{alias}/light", enabled: ({ state }) => !state.dark, view: () => "bright" },
  },
  messages: {
    put: {
      input: z.object({ item: z.string() }),
      run({ state, args }) {
        state.items.push(args.item);
      },
    },
  },
});

export const player = actor("player", {
  description: "A player.",
  per: "user",
  state: z.object({ room: z.string().default("hall"), items: z.array(z.string()).default([]) }),
  links: { "": { kinds: ["room"], to: ({ state }) => room.id(state.room) } },
  tools: {
    move: {
      description: "Goes.",
      input: z.object({ to: z.string() }),
      run({ state, args }) {
        state.room = args.to;
        return "You go.";
      },
    },
    drop: {
      description: "Puts a thing down.",
      input: z.object({ item: z.string() }),
      enabled: ({ state }) => state.items.length > 0 || "You carry nothing.",
      choices: { item: ({ state }) => [...state.items] },
      run({ state, args, send }) {
        state.items.splice(state.items.indexOf(args.item), 1);
        send(room.id(state.room), "put", { item: args.item });
        return `You drop the ${args.item}.`;
      },
    },
    inventory: { description: "What you carry.", view: ({ state }) => state.items.join(", ") },
  },
  resources: { me: { uri: "game://player/state", view: ({ state }) => state } },
  prompts: { start: { description: "Begins.", view: ({ state }) => `You are in ${state.room}.` } },
  messages: {
    gain: {
      input: z.object({ item: z.string() }),
      run({ state, args }) {
        state.items.push(args.item);
      },
    },
  },
});
