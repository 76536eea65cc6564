import { actor, index } from "troupe";
import * as z from "zod";
import { allow, task } from "./task.ts";

export { inbox, task } from "./task.ts";

/** The board, which everyone shares. Its link offers the tools of any task: `task__take { "task": "T-1" }`. */
export const board = actor("board", {
  description: "The team's tasks.",
  per: "shared",
  allow,
  state: z.object({ added: z.int().default(0) }),
  links: { task: { kind: task, by: "task" } },
  tools: {
    add: {
      description: "Add a task.",
      input: z.object({ title: z.string().min(1).max(200) }),
      output: z.object({ task: z.string() }),
      run({ state, args, viewer, create, settled }) {
        const key = `T-${(state.added += 1)}`;
        create(task.at(key), { ...args, author: viewer.principal ?? "unknown" });
        return settled({ task: key });
      },
    },
    nudge: {
      description: "Remind the person who took a task.",
      allow: "lead",
      input: z.object({ task: z.string().regex(/^T-\d{1,9}$/) }),
      run: ({ args, forward }) => forward(task.at(args.task).remind()),
    },
  },
});

/** The tasks that are not done: a resource to subscribe to, and a tool to search with. */
export const openTasks = index(task, {
  where: ({ state }) => state.status !== "done",
  pick: ["title", "status", "taker"],
  uri: "tasks://open",
  tool: "find_tasks",
  description: "Tasks that are not done.",
});
