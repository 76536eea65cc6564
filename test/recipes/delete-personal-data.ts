// The code of docs/recipes/delete-personal-data.md.
import { actor } from "troupe";
import type { LocalEngine } from "troupe/engine";
import * as z from "zod";

export const guestbook = actor("guestbook", {
  description: "What guests wrote.",
  state: z.object({ entries: z.array(z.object({ by: z.string(), text: z.string() })).default([]) }),
  messages: {
    add: { input: z.object({ by: z.string(), text: z.string() }), run: ({ state, args }) => void state.entries.push(args) },
    forget: {
      input: z.object({ person: z.string() }),
      run: ({ state, args }) => void (state.entries = state.entries.filter(({ by }) => by !== args.person)),
    },
  },
});

export const diary = actor("diary", {
  description: "Your diary.",
  per: "user",
  state: z.object({ days: z.array(z.string()).default([]) }),
  tools: {
    write: {
      description: "Write into your diary, and sign the guestbook.",
      input: z.object({ text: z.string() }),
      run({ state, args, key, send }) {
        state.days.push(args.text);
        send(guestbook.at("main").add({ by: key, text: "was here" }));
      },
    },
  },
});

/** Step 1: stops the person's own actors, and has shared actors forget the person. */
export async function forget(engine: LocalEngine, person: string): Promise<void> {
  await engine.stop(diary.id(person), "deleted on request");
  await engine.call({ ...guestbook.at("main").forget({ person }), start: null });
}

/** Step 2, once a day: removes actors that stopped before this time, with their history. */
export async function eraseStopped(engine: LocalEngine, before: number): Promise<void> {
  let after: string | undefined;
  do {
    const page = await engine.prune({ before, ...(after === undefined ? {} : { after }) });
    after = page.next;
  } while (after !== undefined);
}
