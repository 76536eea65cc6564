// Destructive tools require confirmation if the client supports elicitation: by a request in a legacy session, by
// input_required in 2026-07-28. Until the user accepts, nothing is applied and nothing is blocked.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CLIENTS, connect, type ClientOptions, type Player, type ElicitAnswer, type Way, type Which } from "../clients.ts";
import { type MudServer, startMud, type Visitor } from "../mud-server.ts";
import { type Served, serveChild } from "../serve-child.ts";
import { at, isJsonObject } from "../wire.ts";

const ELICIT = "elicitation/create";
const CAN = { capabilities: { elicitation: {} } };
const YES: ElicitAnswer = { action: "accept", content: { confirm: true } };

/** Moves a client to the goblin in the cellar, with a torch. */
const goToGoblin = async (visitor: Visitor): Promise<void> => {
  await visitor.call("pick_up", { item: "torch" });
  await visitor.go("north", "east", "south");
};

const text = (result: unknown): string => String(at(result, "content", 0, "text"));
const goblin = async (visitor: Visitor): Promise<unknown> => at(await visitor.read("game://room/current"), "monster", "health");
const head = async (mud: MudServer, id: `${string}/${string}`): Promise<string | undefined> => (await mud.engine.read(id))?.head;

const battle = { jsonrpc: "2.0", id: "battle", method: "tools/call", params: { name: "battle", arguments: {} } };
const replied = (visitor: Visitor): Promise<unknown> => visitor.until((frame) => at(frame, "id") === "battle");

describe("a legacy client that supports elicitation", () => {
  test("gets an elicitation request, and the fight begins when it accepts #mud.confirm", async () => {
    await using mud = await startMud();
    await using ada = await mud.enter("test|ada", CAN);
    await goToGoblin(ada);
    ada.say(battle);
    const request = await ada.until((frame) => at(frame, "method") === ELICIT);
    assert.match(String(at(request, "params", "message")), /Attack the Cave Goblin \(health 45\)\?/);
    assert.deepEqual(at(request, "params", "requestedSchema", "required"), ["confirm"]);
    assert.equal(await goblin(ada), 45);
    ada.say({ jsonrpc: "2.0", id: at(request, "id"), result: YES });
    const reply = await replied(ada);
    assert.notEqual(at(reply, "result", "isError"), true, JSON.stringify(reply));
    assert.match(text(at(reply, "result")), /the Cave Goblin/);
    // The fight has begun, so the next blow needs no confirmation.
    const questions = ada.frames.filter((frame) => at(frame, "method") === ELICIT).length;
    if (at(await ada.read("game://player/state"), "monsterPresent") === true) await ada.call("battle");
    assert.equal(ada.frames.filter((frame) => at(frame, "method") === ELICIT).length, questions);
  });

  for (const [what, answer] of [
    ["declines", { result: { action: "decline" } }],
    ["cancels", { result: { action: "cancel" } }],
    ["accepts without a yes", { result: { action: "accept", content: { confirm: false } } }],
    ["answers with nonsense", { result: { action: "accept", content: { confirm: "perhaps" } } }],
    ["answers with an error", { error: { code: -32601, message: "I cannot" } }],
  ] as const)
    test(`that ${what} gets an error, and nothing is applied`, async () => {
      await using mud = await startMud();
      await using ada = await mud.enter("test|ada", CAN);
      await goToGoblin(ada);
      await mud.quiet();
      const heads = [await head(mud, "room/cellar"), await head(mud, `player/${encodeURIComponent("test|ada")}`)];
      ada.say(battle);
      const request = await ada.until((frame) => at(frame, "method") === ELICIT);
      ada.say({ jsonrpc: "2.0", id: at(request, "id"), ...answer });
      const reply = await replied(ada);
      assert.equal(at(reply, "result", "isError"), true, JSON.stringify(reply));
      await mud.quiet();
      assert.deepEqual([await head(mud, "room/cellar"), await head(mud, `player/${encodeURIComponent("test|ada")}`)], heads);
      assert.equal(await goblin(ada), 45);
    });

  test("that does not answer blocks no one, and its delayed answer is not applied #gateway.needs.nothing-held", async () => {
    await using mud = await startMud();
    await using ada = await mud.enter("test|ada", CAN);
    await using bob = await mud.enter("test|bob");
    await goToGoblin(ada);
    await bob.go("north", "east", "south");
    ada.say(battle);
    const request = await ada.until((frame) => at(frame, "method") === ELICIT);
    // Both act in the room whose tool waits, and leave it.
    for (const visitor of [bob, ada]) {
      assert.match(text(await visitor.call("say", { text: "wait" })), /You say/);
      assert.equal(await goblin(visitor), 45);
    }
    await bob.call("battle");
    assert.equal(at(await ada.read("game://player/state"), "health"), 100);
    await ada.go("north");
    ada.say({ jsonrpc: "2.0", id: at(request, "id"), result: YES });
    const reply = await replied(ada);
    assert.equal(at(reply, "result", "isError"), true, "she is not where the goblin is");
    assert.equal(at(await ada.read("game://player/state"), "room"), "chamber");
  });

  test("that disconnects without an answer changes nothing", async () => {
    await using mud = await startMud();
    const ada = await mud.enter("test|ada", CAN);
    await goToGoblin(ada);
    await mud.quiet();
    const heads = await head(mud, "room/cellar");
    ada.say(battle);
    await ada.until((frame) => at(frame, "method") === ELICIT);
    await ada[Symbol.asyncDispose]();
    await mud.quiet();
    assert.equal(await head(mud, "room/cellar"), heads);
  });

  test("without elicitation gets no request: its host confirms destructive tools #spec.6.tools.consent", async () => {
    await using mud = await startMud();
    await using ada = await mud.enter("test|ada");
    await goToGoblin(ada);
    assert.notEqual(at(await ada.call("battle"), "isError"), true);
    assert.equal(
      ada.frames.some((frame) => at(frame, "method") === ELICIT),
      false,
    );
  });
});

const fight = (visitor: Visitor, more: object = {}): Promise<unknown> =>
  visitor.request("tools/call", { name: "battle", arguments: {}, ...more });

/** Calls `battle`. Returns its question's state, and how to answer it. */
const questionFor = async (
  visitor: Visitor,
): Promise<{ readonly requestState: unknown; readonly responses: (answer: unknown) => object }> => {
  const reply = await fight(visitor);
  assert.equal(at(reply, "result", "resultType"), "input_required", JSON.stringify(reply));
  const requests = at(reply, "result", "inputRequests");
  assert.ok(isJsonObject(requests));
  const [key = ""] = Object.keys(requests);
  assert.equal(at(requests, key, "method"), ELICIT);
  assert.match(String(at(requests, key, "params", "message")), /Attack the Cave Goblin/);
  const requestState = at(reply, "result", "requestState");
  return { requestState, responses: (answer) => ({ inputResponses: { [key]: answer }, requestState }) };
};

describe("a client of 2026-07-28 that supports elicitation", () => {
  test("gets input_required, and the fight begins when it repeats the call with an acceptance", async () => {
    await using mud = await startMud();
    await using ada = mud.modern("test|ada", CAN);
    await goToGoblin(ada);
    const { responses } = await questionFor(ada);
    assert.equal(await goblin(ada), 45);
    const reply = await fight(ada, responses(YES));
    assert.equal(at(reply, "result", "resultType"), "complete", JSON.stringify(reply));
    assert.notEqual(at(reply, "result", "isError"), true);
  });

  for (const [what, answer] of [
    ["declines", { action: "decline" }],
    ["cancels", { action: "cancel" }],
    ["accepts without a yes", { action: "accept", content: { confirm: false } }],
  ] as const)
    test(`that ${what} gets an error, and nothing is applied`, async () => {
      await using mud = await startMud();
      await using ada = mud.modern("test|ada", CAN);
      await goToGoblin(ada);
      await mud.quiet();
      const heads = await head(mud, "room/cellar");
      const { responses } = await questionFor(ada);
      const reply = await fight(ada, responses(answer));
      assert.equal(at(reply, "result", "isError"), true, JSON.stringify(reply));
      await mud.quiet();
      assert.equal(await head(mud, "room/cellar"), heads);
      assert.equal(await goblin(ada), 45);
    });

  test("that does not return blocks no one #gateway.needs.nothing-held #spec.6.trust.desktop", async () => {
    await using mud = await startMud();
    await using ada = mud.modern("test|ada", CAN);
    await using bob = await mud.enter("test|bob");
    await goToGoblin(ada);
    await bob.go("north", "east", "south");
    await mud.quiet();
    const heads = await head(mud, "room/cellar");
    await questionFor(ada);
    await mud.quiet();
    assert.equal(await head(mud, "room/cellar"), heads);
    assert.notEqual(at(await bob.call("battle"), "isError"), true);
    await ada.go("north");
  });

  test("cannot answer another client's question, nor its own for another call #gateway.needs.modern #spec.6.privacy.access", async () => {
    await using mud = await startMud();
    await using ada = mud.modern("test|ada", CAN);
    await using bob = mud.modern("test|bob", CAN);
    await goToGoblin(ada);
    await bob.call("say", { text: "hello" });
    await bob.go("north", "east", "south");
    const { responses, requestState } = await questionFor(ada);
    const stolen = await fight(bob, responses(YES));
    assert.equal(at(stolen, "error", "code"), -32602, JSON.stringify(stolen));
    const other = await ada.request("tools/call", { name: "drop", arguments: { item: "torch" }, ...responses(YES) });
    assert.equal(at(other, "error", "code"), -32602);
    const forged = await fight(ada, { ...responses(YES), requestState: `${String(requestState).slice(0, -4)}AAAA` });
    assert.equal(at(forged, "error", "code"), -32602);
    assert.equal(await goblin(ada), 45);
  });

  test("without elicitation gets no question", async () => {
    await using mud = await startMud();
    await using ada = mud.modern("test|ada");
    await goToGoblin(ada);
    const reply = await fight(ada);
    assert.equal(at(reply, "result", "resultType"), "complete");
    assert.notEqual(at(reply, "result", "isError"), true);
  });
});

describe("official clients", () => {
  // A dungeon per test: an earlier player may have beaten the goblin, or still be in its room.
  const DOORS = ["http", "tcp"] as const;
  const dungeon = (): Promise<Served> => serveChild(["examples/mud", "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--grace", "100"]);
  const through = (served: Served, door: (typeof DOORS)[number]): Way =>
    door === "http" ? { http: String(served.ready.http) } : { tcp: String(served.ready.tcp) };

  interface Fighter extends AsyncDisposable {
    call(tool: string, args?: Record<string, unknown>): ReturnType<Player["call"]>;
    monster(): Promise<boolean>;
  }

  /** A new player in the goblin's room. */
  const fighter = async (way: Way, which: Which, manner: ClientOptions): Promise<Fighter> => {
    const player = await connect(way, which, manner);
    const handle = which.era === "modern" ? String(at((await player.call("start_player")).structured, "handle")) : undefined;
    const call: Fighter["call"] = (tool, args = {}) => player.call(tool, handle === undefined ? args : { ...args, handle });
    for (const direction of ["north", "east", "south"]) {
      const { isError, text: why } = await call("move", { direction });
      assert.equal(isError, false, why);
    }
    return {
      call,
      monster: async () =>
        at(
          JSON.parse(await player.read(handle === undefined ? "game://player/state" : `game://${handle}/player/state`)),
          "monsterPresent",
        ) === true,
      [Symbol.asyncDispose]: () => player[Symbol.asyncDispose](),
    };
  };

  for (const which of CLIENTS) {
    test(`a user declines, then accepts: SDK ${which.sdk}, ${which.era}, over HTTP and TCP #mud.confirm`, async () => {
      for (const door of DOORS) {
        await using served = await dungeon();
        const way = through(served, door);
        const questions: string[] = [];
        let answer: ElicitAnswer = { action: "decline" };
        const elicit = (message: string): ElicitAnswer => {
          questions.push(message);
          return answer;
        };
        await using ada = await fighter(way, which, { elicit });
        const refused = await ada.call("battle");
        assert.deepEqual([refused.isError, refused.text], [true, "Not confirmed."]);
        assert.match(questions[0] ?? "", /Attack what is breathing in the dark\? You have 100 of 100 health/);
        answer = YES;
        const fought = await ada.call("battle");
        assert.equal(fought.isError, false, fought.text);
        assert.equal(questions.length, 2);
        if (await ada.monster()) await ada.call("flee");
      }
    });

    test(`an unanswered question does not block others: SDK ${which.sdk}, ${which.era}, over HTTP and TCP #mud.confirm`, async () => {
      // A world per test: if others have slain the goblin, there is no question.
      await using fresh = await serveChild(["examples/mud", "--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
      for (const way of [{ http: String(fresh.ready.http) }, { tcp: String(fresh.ready.tcp) }]) {
        const question = Promise.withResolvers<void>();
        const elicit = (): Promise<ElicitAnswer> => {
          question.resolve();
          return new Promise(() => undefined);
        };
        const ada = await fighter(way, which, { elicit });
        const waiting = ada.call("battle").then(
          () => "answered",
          () => "disconnected",
        );
        assert.equal(await Promise.race([question.promise, waiting]), undefined, "the battle asks first");
        await using bob = await fighter(way, which, {});
        assert.equal((await bob.call("say", { text: "hello" })).isError, false);
        assert.equal((await ada.call("say", { text: "I think about it" })).isError, false);
        await ada[Symbol.asyncDispose]();
        // In 2026-07-28 only the client waits: its call was answered already.
        if (which.era === "legacy") assert.equal(await waiting, "disconnected");
        assert.equal((await bob.call("look")).isError, false);
      }
    });
  }
});
