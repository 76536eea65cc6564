import { actor, type Json, refuse } from "troupe";
import { stateAt } from "troupe/chain";
import type { ActorId, ChainEvent, Engine } from "troupe/contract";
import { createServer, type Server } from "troupe/server";
import { cast } from "troupe/source";
import * as z from "zod";

const Text = z.object({ text: z.string() });

/** One page for everyone. */
export const page = actor("page", {
  description: "A page.",
  per: "shared",
  state: z.object({ text: z.string().default("") }),
  tools: {
    write: {
      description: "Replace the text.",
      scopes: ["edit"],
      input: Text,
      run({ state, args }) {
        state.text = args.text;
        return "Written.";
      },
    },
  },
  messages: {
    restore: {
      input: Text,
      run({ state, args }) {
        state.text = args.text;
      },
    },
  },
  resources: { page: { uri: "page://text", mimeType: "text/plain", view: ({ state }) => state.text } },
});

/** The state before the last `steps` events, or undefined if there are fewer events. */
export async function stateBefore(engine: Engine, id: ActorId, steps: number): Promise<Json | undefined> {
  const events: ChainEvent[] = [];
  for await (const event of engine.history(id)) events.push(event);
  return steps < events.length ? stateAt(events, events.length - steps).state : undefined;
}

export function pages(engine: Engine): Server {
  const server = createServer("pages", "1.0.0", { sources: [cast({ engine, kinds: [page] })] });
  server.tools.register(
    { name: "undo", input: z.object({ steps: z.int().min(1).default(1) }), scopes: ["edit"] },
    async ({ args: { steps }, viewer }) => {
      const previous = await stateBefore(engine, page.id("main"), steps);
      if (previous === undefined) throw refuse("There are not that many steps.");
      const reply = await engine.call({ ...page.at("main").restore(Text.parse(previous)), viewer });
      if ("ok" in reply) return "Undone.";
      throw refuse("refused" in reply ? reply.refused.message : "It cannot be undone now.");
    },
  );
  return server;
}
