// The code of docs/guide/questions.md, except that of sample.fixture.ts.
import { actor, elicit, refuse } from "troupe";
import * as z from "zod";

export const pantry = actor("pantry", {
  description: "Your pantry.",
  per: "user",
  state: z.object({ jars: z.array(z.string()).default(["jam", "honey"]), given: z.array(z.string()).default([]) }),
  tools: {
    give_jar: {
      description: "Give a jar to a friend.",
      run({ state, ask }) {
        const { friend } = ask({ friend: elicit("Who gets a jar?", z.object({ name: z.string() })) });
        if (friend.action !== "accept") refuse("Nobody was named.");
        const jar = state.jars.pop();
        if (jar === undefined) refuse("You have no jars left.");
        state.given.push(`${jar} to ${friend.content.name}`);
        return `You gave ${jar} to ${friend.content.name}.`;
      },
    },
  },
});
