// Actors of users, whose offers depend on the caller.
import { actor, hasClaim } from "troupe";
import * as z from "zod";

export const notebook = actor("notebook", {
  description: "A notebook of its user.",
  per: "user",
  state: z.object({ lines: z.array(z.string()).default([]) }),
  allow: { editor: { holds: ({ viewer }) => hasClaim(viewer, "role", "editor"), reason: "Only editors may." } },
  tools: {
    write: {
      description: "Write a line.",
      input: z.object({ line: z.string() }),
      run({ state, args, viewer }) {
        state.lines.push(args.line);
        return `Line ${state.lines.length} of ${viewer?.principal ?? "an anonymous user"}.`;
      },
    },
    publish: { description: "Publish it.", allow: "editor", run: () => "Published." },
    erase: { description: "Erase it.", scopes: ["admin"], run: ({ state }) => void (state.lines = []) },
  },
});

export const lobby = actor("lobby", {
  description: "Where everyone meets.",
  per: "shared",
  state: z.object({ visits: z.int().default(0) }),
  tools: {
    enter: { description: "Enter the lobby.", run: ({ state }) => `Visit ${(state.visits += 1)}.` },
    leave: { description: "Leave it.", enabled: ({ state }) => state.visits > 0 || "No one is here.", run: () => "Bye." },
  },
});
