import { actor, refuse } from "troupe";
import * as z from "zod";

const MAX_MESSAGES = 200;
const MAX_MEMBERS = 1_000;
const MAX_ROOMS = 1_000;
const WEEK_MS = 7 * 86_400_000;
/** 200 texts of 2,000 characters take up to 2.4 MB, since JSON has six bytes for some characters. */
const MAX_STATE_BYTES = 4_194_304;

/** The members mentioned in a text. Matches the longest name after each @, since "anna" begins with "ann". */
function mentionedIn(text: string, members: readonly string[]): readonly string[] {
  const names = members.toSorted((a, b) => b.length - a.length);
  const found = Array.from(text.matchAll(/@/g), ({ index }) => {
    const rest = text.slice(index + 1);
    return names.find((name) => rest.startsWith(name) && !/^[\p{L}\p{N}]/u.test(rest.slice(name.length)));
  });
  return [...new Set(found)].filter((name) => name !== undefined);
}

/** The messages that mention each user. */
export const mentions = actor("mentions", {
  description: "Messages that mention you.",
  per: "user",
  maxStateBytes: MAX_STATE_BYTES,
  state: z.object({ list: z.array(z.object({ room: z.string(), by: z.string(), text: z.string() })).default([]) }),
  resources: { mentions: { uri: "mentions://mine", mimeType: "application/json", view: ({ state }) => state.list } },
  messages: {
    mention: {
      input: z.object({ room: z.string(), by: z.string(), text: z.string() }),
      run({ state, args }) {
        state.list.push(args);
        if (state.list.length > MAX_MESSAGES) state.list.shift();
      },
    },
  },
});

/** One chat room. The lobby creates it. */
export const room = actor("room", {
  description: "A chat room.",
  per: "link",
  maxStateBytes: MAX_STATE_BYTES,
  state: z.object({
    members: z.array(z.string()).default([]),
    messages: z.array(z.object({ by: z.string(), text: z.string(), at: z.number() })).default([]),
  }),
  tools: {
    join: {
      description: "Join the room.",
      enabled: ({ state, viewer }) => !state.members.includes(viewer.principal ?? "") || "You are in the room.",
      run({ state, viewer }) {
        if (viewer.principal === undefined) refuse("Sign in first.");
        if (state.members.length === MAX_MEMBERS) refuse("The room is full.");
        state.members.push(viewer.principal);
      },
    },
    post: {
      description: "Write a message. @name mentions somebody.",
      input: z.object({ text: z.string().min(1).max(2_000) }),
      enabled: ({ state, viewer }) => state.members.includes(viewer.principal ?? "") || "Join the room first.",
      run({ state, args, viewer, key, now, send }) {
        const by = viewer.principal ?? "somebody";
        state.messages.push({ by, text: args.text, at: now });
        if (state.messages.length > MAX_MESSAGES) state.messages.shift();
        send(mentions.each(mentionedIn(args.text, state.members)).mention({ room: key, by, text: args.text }));
      },
    },
  },
  resources: {
    messages: { uri: "room://{alias}/messages", mimeType: "application/json", reads: ["messages"], view: ({ state }) => state.messages },
  },
  messages: {
    opened: {
      run({ wake, messages }) {
        wake("tidy", { cron: "0 4 * * *", timeZone: "Europe/Berlin", message: messages.tidy() });
      },
    },
    tidy: {
      run({ state, now }) {
        state.messages = state.messages.filter(({ at }) => now - at < WEEK_MS);
      },
    },
  },
});

/** The list of rooms. Users open and find rooms here. */
export const lobby = actor("lobby", {
  description: "The rooms there are.",
  per: "shared",
  state: z.object({ rooms: z.array(z.string()).default([]) }),
  links: { room: { kind: room, by: "room", choices: ({ state }) => state.rooms } },
  tools: {
    open_room: {
      description: "Open a room.",
      input: z.object({ name: z.string().regex(/^[a-z][a-z0-9-]{0,30}$/) }),
      run({ state, args, create, send, settled }) {
        if (!state.rooms.includes(args.name)) {
          if (state.rooms.length === MAX_ROOMS) refuse("There are enough rooms: join one of them.");
          state.rooms.push(args.name);
          create(room.at(args.name));
          send(room.at(args.name).opened());
        }
        return settled(`The room ${args.name} is open.`);
      },
    },
  },
});
