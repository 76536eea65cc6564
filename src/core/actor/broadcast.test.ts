// Owns: what `kind.each(keys)` promises an author.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { testActor } from "../../testing/index.ts";
import { actor, type RunContext } from "./index.ts";

const inbox = actor("inbox", {
  description: "A person's notices.",
  per: "user",
  state: z.object({ notices: z.array(z.string()).default([]) }),
  messages: {
    notify: {
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.notices.push(args.text);
      },
    },
    clear: { run: ({ state }) => void (state.notices = []) },
  },
});

const desk = actor("desk", {
  description: "Notifies people.",
  state: z.object({ ids: z.array(z.string()).default([]) }),
  messages: {
    tell: {
      input: z.object({ people: z.array(z.string()) }),
      run({ state, args, send }) {
        state.ids.push(...send(inbox.each(args.people).notify({ text: "Soup is served." }), { deadline: 9 }));
        send(inbox.each(new Set(args.people)).clear());
      },
    },
  },
});

test("a builder of messages is bound to its address, so that it can be passed on by itself", () => {
  const { notify } = inbox.at("ann");
  const all = inbox.each(["ann", "bob"]).notify;
  const sent = [notify({ text: "Soup." }), ...all({ text: "Soup." })];
  assert.deepEqual(
    sent.map(({ to, action }) => `${to} ${action}`),
    ["inbox/ann notify", "inbox/ann notify", "inbox/bob notify"],
  );
});

test("send(kind.each(keys).message(args)) sends it to each, in order, and returns the ids #actors.broadcast", () => {
  const stage = testActor(desk);
  stage.turn("tell", { people: ["ann", "b/b"] });
  assert.deepEqual(stage.sent, [
    { to: "inbox/ann", action: "notify", args: { text: "Soup is served." }, deadline: 9 },
    { to: "inbox/b%2Fb", action: "notify", args: { text: "Soup is served." }, deadline: 9 },
    { to: "inbox/ann", action: "clear", args: null },
    { to: "inbox/b%2Fb", action: "clear", args: null },
  ]);
  assert.equal(new Set(stage.state.ids).size, 2);
});

test("a broadcast to no actor sends nothing, and one with a wrong key or wrong arguments is refused #actors.broadcast", () => {
  const stage = testActor(desk);
  stage.turn("tell", { people: [] });
  assert.deepEqual([stage.sent, stage.state.ids], [[], []]);
  assert.throws(() => stage.turn("tell", { people: ["ann", ""] }), { code: "BAD_ID" });
  assert.throws(() => inbox.each(["a"]).notify(JSON.parse('{"text":"\\ud800"}')), { code: "BAD_TURN" });
});

export const mustNotCompile = ({ send, args }: RunContext<object, { people: string[] }>) => {
  // @ts-expect-error it has no such message
  send(inbox.each(args.people).notifi({ text: "x" }));
  // @ts-expect-error its argument is called `text`
  send(inbox.each(args.people).notify({ txt: "x" }));
  // @ts-expect-error keys are text
  send(inbox.each([1, 2]).notify({ text: "x" }));
  // @ts-expect-error a list has an id for each message
  const id: string = send(inbox.each(args.people).clear());
  return id;
};
