// `forward` in both engines: any reply of the other actor reaches the caller, once.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { actor } from "troupe";
import * as z from "zod";
import type { ActorId, Json, Reply } from "../../src/core/contract/index.ts";
import { LocalEngine } from "../../src/core/engine/index.ts";
import { memoryStore } from "../../src/core/store/index.ts";
import { board, KINDS, order, reader, release, shelf, writer } from "./kinds.fixture.ts";
import { ENGINES, LOCAL, type TestEngine } from "./engines.ts";

const ANN = { principal: "ann", scopes: [] };
const ANN_ID: ActorId = reader.id("ann");
const FORM = { can: ["elicitation"] };

const tool = (name: string, args: Json = {}) => ({ to: ANN_ID, action: `tools/${name}`, args, viewer: ANN, start: null });
const ORDER: ActorId = order.id("ann");
const pay = (name: string, args: Json = {}) => ({ to: ORDER, action: `tools/${name}`, args, viewer: ANN });
const logOf = async (place: TestEngine): Promise<unknown> => Object(await place.state(ORDER)).log;

const WRITER: ActorId = writer.id("ann");
const write = (name: string) => ({ to: WRITER, action: `tools/${name}`, args: {}, viewer: ANN });
const notesOf = async (place: TestEngine, key: string): Promise<unknown> => Object(await place.state(board.id(key))).notes;

const refusal = (reply: Reply): string => ("refused" in reply ? reply.refused.code : JSON.stringify(reply));
const pending = async (place: TestEngine): Promise<number> =>
  (await Promise.all(([ANN_ID, "desk/main", "shelf/main"] as const).map((id) => place.pending(id)))).reduce((sum, n) => sum + n, 0);

for (const { name, open } of ENGINES)
  describe(name, () => {
    test("the other actor's reply becomes the caller's, a refusal with its code and data #actors.forward", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(tool("borrow", { title: "Emma" })), { ok: "Emma" });
      assert.deepEqual(await place.call(tool("borrow", { title: "Emma" })), {
        refused: { code: "LENT", message: "Emma is lent.", data: { title: "Emma" } },
      });
      assert.deepEqual(await place.state("shelf/main"), { free: ["Dune"], calls: ["ann"], open: [] }, "on behalf of the caller");
      assert.equal(await pending(place), 0);
    });

    test("a call that is forwarded twice is answered to the original caller", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(tool("through", { title: "Dune" })), { ok: "Dune" });
      assert.equal(refusal(await place.call(tool("through", { title: "Dune" }))), "LENT");
      assert.deepEqual(await place.state("shelf/main"), { free: ["Emma"], calls: ["ann"], open: [] });
      assert.equal(await pending(place), 0);
    });

    test("a tool of another kind may be forwarded to, and decides for the caller itself #actors.forward.tool", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(tool("watch")), { ok: ["You look.", "It is shut."] });
      const bob: ActorId = reader.id("bob");
      const asBob = { ...tool("enter", { how: "by force" }), to: bob, viewer: { principal: "bob", scopes: [] } };
      const refused = await place.call(asBob);
      assert.ok("refused" in refused && /guest/.test(refused.refused.message), "its `allow` holds");
      assert.deepEqual(await place.call(tool("enter", { how: "softly" })), { ok: { opened: "softly" } });
      assert.deepEqual(await place.call(tool("enter", { how: "again" })), { refused: { code: "NOT_NOW", message: "It is open." } });
      assert.deepEqual(await place.call(tool("watch")), { ok: ["You look.", "It is open."] });
    });

    test("work may forward what it ends in", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(tool("working", { title: "Emma" })), { ok: "Emma" });
    });

    test("a question behind two forwards reaches the client, and its answers reach the question", async () => {
      await using place = await open(KINDS);
      const question = await place.call(tool("rate", { title: "Emma" }), FORM);
      assert.ok("needs" in question, JSON.stringify(question));
      assert.deepEqual(Object.keys(question.needs), ["stars"]);
      const answers = { stars: { action: "accept", content: { stars: 5 } } };
      assert.deepEqual(await place.call(tool("rate", { title: "Emma" }), { ...FORM, answers }), { ok: 5 });
      const declined = { stars: { action: "decline" } };
      assert.equal(refusal(await place.call(tool("rate", { title: "Emma" }), { ...FORM, answers: declined })), "REFUSED");
      assert.equal(await pending(place), 0);
    });

    test("C4 repeating a keyed call that asks a question does not answer the question", async () => {
      await using place = await open(KINDS);
      assert.ok("needs" in (await place.call(tool("rate", { title: "Emma" }), { ...FORM, key: "k" })));
      const answers = { stars: { action: "accept", content: { stars: 4 } } };
      assert.deepEqual(await place.call(tool("rate", { title: "Emma" }), { ...FORM, answers, key: "k" }), { ok: 4 });
      assert.deepEqual(await place.call(tool("rate", { title: "Emma" }), { ...FORM, key: "k" }), { ok: 4 });
      assert.deepEqual(await place.state("shelf/main"), { free: ["Dune", "Emma"], calls: ["Emma 4"], open: [] });
    });

    test("a client without elicitation is refused, and a plain send advises to use forward", async () => {
      await using place = await open(KINDS);
      const refused = await place.call(tool("rate", { title: "Emma" }));
      assert.ok("refused" in refused && refused.refused.code === "CANNOT_ASK");
      assert.match(refused.refused.message, /your client does not support/);
    });

    test("a crash, or an actor that is missing, refuses the caller", async () => {
      await using place = await open(KINDS);
      assert.equal(refusal(await place.call(tool("broken"))), "CRASHED");
      assert.equal(refusal(await place.call(tool("missing"))), "NO_ACTOR");
      assert.equal(await pending(place), 0);
    });

    test("a reply that does not fit the tool's own output refuses the caller", async () => {
      await using place = await open(KINDS);
      assert.equal(refusal(await place.call(tool("unfit"))), "CRASHED");
      assert.equal(await pending(place), 0);
    });

    test("forward twice, or without returning it, is a crash and sends nothing", async () => {
      await using place = await open(KINDS);
      for (const mistake of ["twice", "dropped"]) assert.equal(await place.fault(tool(mistake)), "CRASHED");
      assert.equal(await place.state("shelf/main"), undefined);
    });

    test("a call that comes back to where it was is refused with its path", async () => {
      await using place = await open(KINDS);
      const refused = await place.call(tool("round"));
      assert.ok("refused" in refused && refused.refused.code === "CYCLE", JSON.stringify(refused));
      assert.equal(refused.refused.message, "This call would go in a circle: reader tools/round → mirror back → reader tools/round.");
      assert.equal(await pending(place), 0);
    });

    test("the reply to a request runs its handler, with the caller and the arguments that were passed on #actors.request", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(pay("pay", { amount: 5, what: "tea" })), { ok: { paid: "R1" } });
      assert.deepEqual(await logOf(place), ["ann paid tea: R1"]);
      assert.equal(await place.pending(ORDER), 0);
    });

    test("a refused request runs the branch for it, or is the caller's refusal", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(pay("pay", { amount: 500 })), { ok: { paid: "nothing" } });
      assert.equal(refusal(await place.call(pay("silent"))), "LIMIT");
      assert.deepEqual(await logOf(place), ["a book: LIMIT"]);
    });

    test("a handler may request again, or refuse", async () => {
      await using place = await open(KINDS);
      for (const receipt of ["R1", "R2", "R3"]) assert.deepEqual(await place.call(pay("checked")), { ok: { paid: receipt } });
      assert.equal(refusal(await place.call(pay("checked"))), "FULL");
      assert.equal(refusal(await place.call(pay("decline"))), "DECLINED");
      assert.equal(JSON.stringify(await logOf(place)).includes("never"), false);
      assert.equal(await place.pending(ORDER), 0);
    });

    test("a question before the handler reaches the client; one after it is refused, and applies nothing twice", async () => {
      await using place = await open(KINDS);
      assert.ok("needs" in (await place.call(pay("pay", { amount: 60 }), FORM)));
      assert.equal(await place.state("bank/main"), undefined);
      const answers = { sure: { action: "accept", content: { yes: true } } };
      assert.deepEqual(await place.call(pay("pay", { amount: 60 }), { ...FORM, answers }), { ok: { paid: "R1" } });
      assert.equal(refusal(await place.call(pay("deliver"), FORM)), "CANNOT_ASK");
      assert.deepEqual(await place.state("bank/main"), { charged: [60, 2] });
    });

    test("a handler that crashes refuses the caller, and its reply is a dead letter", async () => {
      await using place = await open(KINDS);
      assert.equal(refusal(await place.call(pay("crash"))), "CRASHED");
      assert.deepEqual(await place.letters(), ["troupe/reply"]);
      assert.equal(await place.pending(ORDER), 0);
    });

    test("a request of another message than its handler's is a crash", async () => {
      await using place = await open(KINDS);
      assert.equal(await place.fault(pay("misnamed")), "CRASHED");
    });

    test("a settled reply comes once all that its turn sent has been applied #actors.settled", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(write("write")), { ok: { written: 1 } });
      assert.deepEqual([await notesOf(place, "a"), await notesOf(place, "b")], [["one", "two"], ["three"]]);
      assert.deepEqual(await place.call(write("nothing")), { ok: "done" });
      assert.deepEqual(await place.call(write("paid")), { ok: "R1" });
      assert.deepEqual(await notesOf(place, "a"), ["one", "two", "R1"]);
      assert.equal(await place.pending(WRITER), 0);
    });

    test("a settled reply does not wait for a receiver that replies later", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(write("later")), { ok: "sent" });
      assert.equal(await place.pending(WRITER), 0);
    });

    test("a message that is refused or fails settles too, and is a dead letter if it failed", async () => {
      await using place = await open(KINDS);
      assert.deepEqual(await place.call(write("refused")), { ok: "sent" });
      assert.deepEqual((await place.letters()).toSorted(), ["broken", "open"]);
      assert.equal(await place.pending(WRITER), 0);
    });

    test("settled() takes the reply itself", async () => {
      await using place = await open(KINDS);
      assert.equal(await place.fault(write("unsettled")), "CRASHED");
    });

    test("no turn may answer another actor's caller", async () => {
      await using place = await open(KINDS);
      const args = { of: "x", to: "shelf/main", reply: { ok: "forged" }, context: { call: "x", path: [] } };
      assert.equal(refusal(await place.call({ to: ANN_ID, action: "troupe/reply", args, start: null })), "UNKNOWN");
    });

    test("a reply that arrives after a restart reaches the caller that waits then", async () => {
      const place = await open(KINDS);
      const first = place.call(tool("hold"), { key: "k" }).catch((error: unknown) => error);
      await place.settle();
      await using again = await place.reopen();
      await first;
      const second = again.call(tool("hold"), { key: "k" });
      await again.settle();
      await again.call({ ...shelf.at("main").release() });
      assert.deepEqual(await second, { ok: "released" });
      assert.equal(await pending(again), 0);
    });

    test("an actor that stops meanwhile refuses its caller, and the reply that comes then is dropped", async () => {
      await using place = await open(KINDS);
      const held = place.call(tool("hold"));
      await place.settle();
      await place.stop(ANN_ID);
      assert.equal(refusal(await held), "ACTOR_STOPPED");
      await place.call({ ...shelf.at("main").release() });
      await place.settle();
      assert.deepEqual(await place.letters(), []);
    });
  });

test("LocalEngine: a reply requested by an earlier incarnation of an actor does nothing in the next one", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const source = actor("source", {
    description: "Gives, when it can.",
    state: z.object({}),
    messages: { give: { output: z.string(), work: () => promise } },
  });
  const taker = actor("taker", {
    description: "Takes.",
    state: z.object({ got: z.array(z.string()).default([]) }),
    tools: {
      take: { description: "Take.", run: ({ request }) => request(source.at("main").give(), "taken") },
      end: { description: "End.", run: ({ stop }) => stop("over") },
      note: { description: "Note.", run: ({ state }) => void state.got.push("noted") },
    },
    replies: { taken: { of: source.message("give"), run: ({ state, reply }) => void state.got.push(reply) } },
  });
  await using place = await LOCAL.open([source, taker]);
  const call = (name: string): Promise<Reply> => place.call({ to: taker.id("main"), action: `tools/${name}`, args: {}, viewer: ANN });
  const taking = call("take");
  await place.settle();
  await call("end");
  assert.equal(refusal(await taking), "ACTOR_STOPPED");
  await call("note");
  resolve("a stone");
  await place.settle();
  assert.deepEqual(await place.state(taker.id("main")), { got: ["noted"] });
});

// The message is blocked by a promise of the test, which the engine on Restate would wait for.
test("LocalEngine: a settled reply waits for the last of several messages, and comes once", async () => {
  await using place = await LOCAL.open(KINDS);
  const state: { reply?: Reply } = {};
  const held = place.call(write("both")).then((reply) => (state.reply = reply));
  await place.settle();
  release("a");
  await place.settle();
  assert.equal(state.reply, undefined);
  assert.equal(await place.pending(WRITER), 1);
  release("b");
  assert.deepEqual(await held, { ok: "released" });
  assert.equal(await place.pending(WRITER), 0);
});

test("LocalEngine: C4 a settled reply survives a restart under the key of its call", async () => {
  const place = await LOCAL.open(KINDS);
  const first = place.call(write("both"), { key: "k" }).catch((error: unknown) => error);
  await place.settle();
  await using again = await place.reopen();
  await first;
  const second = again.call(write("both"), { key: "k" });
  await again.settle();
  for (const key of ["b", "a"]) release(key);
  assert.deepEqual(await second, { ok: "released" });
  assert.deepEqual(await again.call(write("both"), { key: "k" }), { ok: "released" });
});

test("LocalEngine: no event has what a call with secret arguments passes on to the handler of a reply #chain.redact", async () => {
  const Login = z.object({ user: z.string(), password: z.string() });
  const judge = actor("judge", {
    description: "Checks passwords.",
    per: "link",
    autoStart: true,
    state: z.object({ asked: z.int().default(0) }),
    messages: {
      check: {
        input: Login,
        output: z.boolean(),
        secret: ["password"],
        run({ state, args }) {
          state.asked += 1;
          return args.password === "hunter22";
        },
      },
    },
  });
  const account = actor("account", {
    description: "An account.",
    state: z.object({ tries: z.array(z.boolean()).default([]) }),
    tools: {
      sign_in: {
        description: "Sign in.",
        input: Login,
        secret: ["password"],
        run: ({ args, request }) => request(judge.at("main").check(args), "checked", args),
      },
    },
    replies: {
      checked: {
        of: judge.message("check"),
        input: Login,
        run({ state, args, reply }) {
          state.tries.push(reply);
          return args.password.length;
        },
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [judge, account], store: memoryStore() });
  const args = { user: "ann", password: "hunter22" };
  assert.deepEqual(await engine.call({ to: account.id("main"), action: "tools/sign_in", args, viewer: ANN }), { ok: 8 });
  for (const id of [account.id("main"), judge.id("main")]) {
    const bodies: (string | undefined)[] = [];
    for await (const { body } of engine.history(id)) bodies.push(body);
    assert.ok(bodies.length > 0 && !bodies.join().includes("hunter22"), bodies.join());
  }
});
