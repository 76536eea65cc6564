import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actorCapability } from "./define-actor.ts";
import { capability } from "./define-capability.ts";

// `@ts-expect-error` marks what must not compile: the type checker fails if it does.
// The definitions are in functions that are never called, since some are refused at run time too.

const about = { intent: "Does a thing", initialState: { items: Array<string>(), open: false } };

void test("types: payloads follow their patterns, and state has the author's type #packet.actor.messages", () => {
  const made = actorCapability("typed", {
    ...about,
    messages: {
      part: {
        match: { kind: "a", deep: { n: 1 } },
        run({ payload, state }) {
          const kind: "a" = payload.kind;
          const n: 1 = payload.deep.n;
          state.items.push(kind.repeat(n));
          return state.items.length;
        },
      },
      schema: {
        match: z.object({ text: z.string().transform((text) => text.length) }),
        run: ({ payload }) => payload.text.toFixed(),
      },
      waits: {
        match: { kind: "w" },
        async work({ signal, state, progress }) {
          progress(1, 2);
          state.open = !signal.aborted;
          return state.items.length;
        },
      },
      reads: { view: ({ state, metadata }) => [state.items.length, metadata.message_count] },
    },
  });
  assert.equal(made.kind.kind, "typed");
});

export const wrong = {
  unknownPart: () =>
    actorCapability("a", {
      ...about,
      messages: {
        x: {
          match: { kind: "a" },
          run({ payload }) {
            // @ts-expect-error -- not the literal in the pattern
            const kind: "b" = payload.kind;
            return kind;
          },
        },
      },
    }),
  schemaType: () =>
    actorCapability("a", {
      ...about,
      messages: {
        x: {
          match: z.object({ n: z.number() }),
          // @ts-expect-error -- a number has no length
          run: ({ payload }) => payload.n.length,
        },
      },
    }),
  schemaField: () =>
    actorCapability("a", {
      ...about,
      messages: {
        x: {
          match: z.object({ n: z.number() }),
          // @ts-expect-error -- no such field
          run: ({ payload }) => payload.m,
        },
      },
    }),
  asyncRun: () =>
    actorCapability("a", {
      ...about,
      messages: {
        x: {
          // @ts-expect-error -- a turn is synchronous: asynchronous code is `work`
          run: async () => "late",
        },
      },
    }),
  wrongState: () =>
    actorCapability("a", {
      ...about,
      messages: {
        x: {
          run({ state }) {
            // @ts-expect-error -- `open` is a boolean
            state.open = "yes";
            // @ts-expect-error -- items are strings
            state.items.push(1);
          },
        },
      },
    }),
  writingRead: () =>
    actorCapability("a", {
      ...about,
      messages: {
        x: {
          view({ state }) {
            // @ts-expect-error -- a read cannot change the state
            state.items.push("x");
            return null;
          },
        },
      },
    }),
  migrated: () =>
    // @ts-expect-error -- `migrate` returns a state
    actorCapability("a", { ...about, version: 2, migrate: () => ({ items: 1 }), messages: { x: { run: () => null } } }),
  twoWays: () =>
    actorCapability("a", {
      ...about,
      messages: {
        // @ts-expect-error -- either a turn or a read
        x: { run: () => null, view: () => null },
      },
    }),
  required: () =>
    capability("a", {
      intent: "x",
      requires: ["user_id"],
      // @ts-expect-error -- an optional string may be missing
      execute: (payload) => payload["other"].length,
    }),
};
