import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../actor/index.ts";
import { memoryStore } from "../store/index.ts";
import { SimulatedClock, twice, until } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

const heard = z.object({ heard: z.array(z.string()).default([]) });

const library = actor("library", {
  description: "Takes books.",
  per: "link",
  state: heard,
  messages: {
    take: {
      input: z.object({ title: z.string() }),
      run({ state, args }) {
        state.heard.push(args.title);
      },
    },
    end: { run: ({ stop }) => stop("done") },
  },
});

const reader = actor("reader", {
  description: "Sends what it likes.",
  state: heard,
  messages: {
    say: {
      input: z.object({ action: z.string(), args: z.json(), replyAs: z.string().optional() }),
      run({ args: { action, args, replyAs }, create, send }) {
        create(library.id("a"));
        send(library.id("a"), action, args, replyAs === undefined ? {} : { replyAs });
      },
    },
    replied: {
      replies: true,
      run({ state, args }) {
        if ("refused" in args.reply) state.heard.push(args.reply.refused.code);
      },
    },
  },
});

for (const persistence of ["disk", "memory"] as const)
  test(`C5 a send that its receiver does not handle is logged, unless its sender gets a reply (${persistence})`, async () => {
    const reported: string[] = [];
    await using engine = await LocalEngine.start({
      kinds: [twice(reader), twice(library)].map((kind) => ({ ...kind, policy: { ...kind.policy, persistence } })),
      store: memoryStore(),
      onFault: (error, { where, actor: of, action }) => reported.push(`${where} ${of} ${action} ${String(error)}`),
    });
    const say = (action: string, args: object, replyAs?: string) =>
      engine.call({ ...reader.at("r").say({ action, args: JSON.parse(JSON.stringify(args)), replyAs }), start: null });
    const heardBy = async (id: `${string}/${string}`): Promise<unknown> => (await engine.read(id))?.state;
    await say("taek", { title: "Emma" });
    await say("take", { titel: "Emma" });
    await say("take", { titel: "Emma" }, "replied");
    await say("taek", {}, "replied");
    await say("take", { title: "Emma" });
    await until("all messages are handled", async () => JSON.stringify(await heardBy("library/a")) === '{"heard":["Emma"]}');
    await until("the requested refusals", async () => JSON.stringify(await heardBy("reader/r")) === '{"heard":["INVALID","UNKNOWN"]}');
    // Its parent has no `ended`, and need not have.
    await say("end", {});
    await until("it has ended", async () => (await engine.read("library/a"))?.status === "stopped");
    await engine.call(reader.at("r").say({ action: "take", args: { title: "last" } }));
    await until("and begun anew", async () => JSON.stringify(await heardBy("library/a")) === '{"heard":["last"]}');
    assert.equal(reported.length, 2, reported.join("\n"));
    assert.match(
      reported[0] ?? "",
      /^outbox library\/a taek EngineError: library\/a refused "taek" of reader\/r \(UNKNOWN\).+`messages`\..+`replyAs`/,
    );
    assert.match(reported[1] ?? "", /^outbox library\/a take EngineError: .+\(INVALID\).+do not fit at title: send what its `input` takes/);
    assert.ok(!reported.join().includes("Emma"), "only the paths of arguments are reported");
  });

for (const persistence of ["disk", "memory"] as const)
  test(`a timer whose message newer code does not handle is logged (${persistence})`, async () => {
    const clock = new SimulatedClock();
    const reported: string[] = [];
    const kind = (messages: object) =>
      actor("alarm", {
        description: "Rings.",
        persistence,
        state: heard,
        tools: {
          set: {
            description: "Set it.",
            run: ({ wake, self }) => wake("w", { afterMs: 1_000, message: { to: self, action: "due", args: null } }),
          },
        },
        messages,
      });
    const older = kind({ due: { run: () => undefined } });
    const newer = kind({});
    let now = older;
    await using engine = await LocalEngine.start({
      kinds: [{ ...older, receive: (...given: Parameters<typeof older.receive>) => now.receive(...given) }],
      clock,
      store: memoryStore({ clock }),
      onFault: (error, { where, actor: of, action }) => reported.push(`${where} ${of} ${action} ${String(error)}`),
    });
    await engine.call({ to: "alarm/a", action: "tools/set", args: {}, start: null });
    now = newer;
    await clock.advance(1_000);
    await until("it has rung", () => reported.length > 0);
    assert.match(reported.join("\n"), /^wake alarm\/a due EngineError: alarm\/a refused "due" of alarm\/a \(UNKNOWN\)/);
  });
