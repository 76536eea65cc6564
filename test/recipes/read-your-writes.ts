// The code of docs/recipes/read-your-writes.md.
import { actor } from "troupe";
import * as z from "zod";

const Post = z.object({ text: z.string() });

export const board = actor("board", {
  description: "A notice board.",
  state: z.object({ texts: z.array(z.string()).default([]) }),
  resources: { board: { uri: "board://all", view: ({ state }) => state.texts } },
  messages: { pin: { input: Post, run: ({ state, args }) => void state.texts.push(args.text) } },
});

export const author = actor("author", {
  description: "Writes for the board.",
  per: "user",
  state: z.object({ written: z.int().default(0) }),
  tools: {
    post: {
      description: "Pin a text to the board.",
      input: Post,
      run({ state, args, send, settled }) {
        state.written += 1;
        send(board.at("main").pin(args));
        return settled("It is on the board.");
      },
    },
  },
});
