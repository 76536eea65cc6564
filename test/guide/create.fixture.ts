// The code of docs/guide/lifecycle.md.
import * as z from "zod";
import { actor } from "troupe";

const Room = z.object({ beds: z.int().default(1) });

export const hotel = actor("hotel", {
  description: "A hotel.",
  state: z.object({ rooms: z.array(z.string()).default([]) }),
  tools: {
    open_room: {
      description: "Open a room for guests.",
      input: z.object({ number: z.string(), beds: z.int() }),
      run({ state, args, create }) {
        state.rooms.push(create(room.at(args.number), { beds: args.beds }));
      },
    },
  },
  messages: {
    ended: {
      run({ state, args }) {
        state.rooms = state.rooms.filter((id) => id !== args.child);
      },
    },
  },
});

export const room = actor("room", {
  description: "A room of a hotel.",
  per: "link",
  initial: ({ args }) => Room.parse(args),
  messages: { close: { run: ({ stop }) => stop("closed") } },
});
