// The code of docs/guide/state.md.
import { actor } from "troupe";
import * as z from "zod";

export const note = actor("note", {
  description: "A note.",
  per: "user",
  state: z.object({ text: z.string().default(""), edits: z.int().default(0) }),
  tools: {
    write: {
      description: "Replace the text.",
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.text = args.text;
        state.edits += 1;
      },
    },
  },
});

const Note = z.object({
  text: z.string().default(""),
  edits: z.int().default(0),
  tags: z.array(z.string()).default([]),
});

export const noteWithTags = actor("note", {
  description: "A note.",
  per: "user",
  state: Note,
  version: 2,
  migrate: ({ state }) => Note.parse(state),
  tools: {
    tag: {
      description: "Add a tag.",
      input: z.object({ tag: z.string() }),
      run({ state, args }) {
        state.tags.push(args.tag);
      },
    },
  },
});

const Game = z.object({ player: z.string(), startedAt: z.number(), dice: z.array(z.int()) });

export const game = actor("game", {
  description: "A game of dice.",
  per: "user",
  state: Game,
  initial: ({ key, now, random }) => ({
    player: key,
    startedAt: now,
    dice: [1, 2].map(() => 1 + Math.floor(random() * 6)),
  }),
  tools: { look: { description: "Look at the dice.", view: ({ state }) => state.dice } },
});
