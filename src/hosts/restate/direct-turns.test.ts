import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DEFAULT_POLICY, type Behaviour, type Json } from "../../core/contract/index.ts";
import { golden, goldenCalls, tallyKind } from "../../testing/conformance/index.ts";
import { begunBy, frame, opening, describeFrame } from "./direct.fixture.ts";
import type { DirectTurns } from "./direct-turns.ts";
import { outputFrame, setFrame } from "./protocol.ts";
import { played, replyOf, type Story } from "./story.fixture.ts";
import { World } from "./world.fixture.ts";

const GOLDEN = "golden/some%20one";
const TALLY = "tally/main";

/** Work, refusals, crashes, sealed arguments, sends, two lives. */
const goldenStory: Story = {
  kinds: [golden("distributed")],
  options: { now: 5_000 },
  async play(world) {
    const frames: Json[] = [];
    for (const { outgoing } of goldenCalls(GOLDEN)) frames.push(replyOf(await world.call(outgoing)));
    return frames;
  },
};

/** Blocks, archived events, and keyed calls. */
const tallyStory: Story = {
  kinds: [tallyKind("tally")],
  async play(world) {
    const frames: Json[] = [];
    for (let n = 0; n < 75; n += 1) {
      const key = n % 4 === 0 ? { key: `key ${n % 12}` } : {};
      frames.push(replyOf(await world.call({ to: TALLY, action: n % 7 === 6 ? "refuse" : "add", args: { by: n }, start: null }, key)));
    }
    return frames;
  },
};

const stories = { "the golden workload": goldenStory, "a long life": tallyStory };
const directly = ({ options, ...story }: Story, cuts: readonly number[] = []): Story => ({
  ...story,
  options: { ...options, direct: cuts },
});

for (const [what, story] of Object.entries(stories))
  describe(`turns without the SDK: ${what}`, () => {
    test("leave the same chains, keys, sends, replies, hints and faults as with it #cluster.direct", async () => {
      const [one, other] = [await played(story), await played(directly(story))];
      assert.deepEqual(other.left, one.left);
      assert.deepEqual([other.world.hints, other.world.thrown], [one.world.hints, one.world.thrown]);
      assert.equal(one.world.answeredDirectly, 0);
      assert.ok(other.world.answeredDirectly > 30, `${other.world.answeredDirectly}`);
    });

    for (const cuts of [[0], [1], [2], [3], [0, 1, 1], [1, 1, 1, 0], [2, 0, 1]])
      test(`law 4: leave the same when attempts are cut after ${cuts.join(", ")} frames, with the same hints #cluster.direct`, async () => {
        const [one, other] = [await played(story), await played(directly(story, cuts))];
        assert.deepEqual(other.left, one.left);
        assert.deepEqual(new Set(other.world.hints), new Set(one.world.hints));
        assert.deepEqual(other.world.thrown, one.world.thrown);
        assert.ok(other.world.invoked.some(({ attempts }) => attempts > 1));
      });
  });

describe("a turn without the SDK", () => {
  const message = { id: "one", to: TALLY, action: "add", args: { by: 1 }, at: 5_000, seed: "0".repeat(32) };
  const PATH = "/invoke/actor-tally/turn";

  /** An existing actor, and turns of its kind. */
  async function begun(): Promise<{ readonly state: ReadonlyMap<string, string>; readonly turns: DirectTurns; readonly world: World }> {
    const world = new World({ kinds: [tallyKind("tally")] });
    await world.call({ to: TALLY, action: "add", args: null, start: null });
    const before = "actor-tally/main ";
    const state = new Map(Object.entries(world.storedKeys(before)).map(([name, text]) => [name.slice(before.length), text]));
    return { state, turns: world.direct, world };
  }

  const requested = async (bytes: Buffer, path = PATH): Promise<readonly string[] | undefined> => {
    const { turns } = await begun();
    return (await turns.answer(path, begunBy(bytes)))?.map(describeFrame);
  };

  test("writes its reply, then what it sets, the actor's own key last, then the end", async () => {
    const { state } = await begun();
    const frames = (await requested(opening({ key: "main", state, input: { message } }))) ?? assert.fail();
    assert.deepEqual(
      frames.map((text) => text.split(" ", 2).join(" ").slice(0, 10)),
      ['output {"r', "set actor", "end"],
    );
  });

  test("goes to the SDK, from its beginning, if it needs more, and is reported once", async () => {
    const { state, world } = await begun();
    const with_ = (more: object): Buffer => opening({ key: "main", state, input: { message: { ...message, ...more } } });
    const other = frame(0x407, [[1, "actor"]]);
    const mine = [outputFrame("{}"), setFrame("actor", "{}")];
    const asks: Readonly<Record<string, readonly [bytes: Buffer, path?: string]>> = {
      "another kind": [with_({}), "/invoke/actor-other/turn"],
      "another handler": [with_({}), "/invoke/actor-tally/deliver"],
      "another actor": [with_({ to: "tally/other" })],
      "no actor yet": [opening({ key: "main", state: new Map(), input: { message } })],
      "not all of its state": [opening({ key: "main", state, input: { message }, partial: true })],
      "what is no message": [opening({ key: "main", state, input: { message: null } })],
      "a journal the SDK began": [opening({ key: "main", state, input: { message }, journal: [other] })],
      "a journal that is ours, set first": [opening({ key: "main", state, input: { message }, journal: mine.toReversed() })],
      "a deadline": [with_({ deadline: 9_999_999 })],
      "a key that is claimed": [opening({ key: "main", state, input: { message, key: { key: "k", call: "c" } } })],
      sends: [with_({ action: "send", args: { to: "tally/other", action: "add", with: null, start: null } })],
      crashes: [with_({ action: "throw" })],
      work: [with_({ action: "work", args: {} })],
    };
    for (const [what, [bytes, path]] of Object.entries(asks)) assert.equal(await requested(bytes, path), undefined, what);
    assert.deepEqual(world.thrown, []);
    assert.equal(
      (await requested(opening({ key: "main", state, input: { message }, journal: [frame(0xfbff, [])] })))?.length,
      3,
      "a cancellation",
    );
    assert.deepEqual(await requested(opening({ key: "main", state, input: { message }, journal: mine })), ["end"]);
  });

  test("law 4: goes to the SDK, which complains, if it differs from the reply in the journal", async () => {
    const { state } = await begun();
    const again = (journal: readonly Buffer[], args: Json = message.args): ReturnType<typeof requested> =>
      requested(opening({ key: "main", state, input: { message: { ...message, args } }, journal }));
    const [reply = "", ...rest] = (await again([])) ?? [];
    const mine = [outputFrame(reply.slice("output ".length))];
    assert.deepEqual(await again(mine), rest);
    assert.equal(await again(mine, { by: 2 }), undefined);
  });

  test("of an action that needed more goes to the SDK for a while, whatever it needs, unless it was begun here", async () => {
    const moody: Behaviour = {
      kind: "moody",
      version: 1,
      policy: DEFAULT_POLICY,
      initial: () => 0,
      receive: (state, { args }) => ({
        state: Number(state) + 1,
        ...(args === "send" ? { send: [{ to: "moody/other", action: "add", args: null, start: null }] } : {}),
      }),
    };
    const world = new World({ kinds: [moody] });
    await world.call({ to: "moody/main", action: "add", args: null, start: null });
    const state = new Map([["actor", world.storedKeys("actor-moody/main actor")["actor-moody/main actor"] ?? assert.fail()]]);
    const answer = async (action: string, args: Json, journal: readonly Buffer[] = []): Promise<readonly Buffer[] | undefined> => {
      const input = { message: { ...message, to: "moody/main", action, args } };
      return await world.direct.answer("/invoke/actor-moody/turn", begunBy(opening({ key: "main", state, input, journal })));
    };
    const ask = async (...given: Parameters<typeof answer>): Promise<boolean> => (await answer(...given)) !== undefined;
    const frames = (await answer("add", null))?.slice(0, 1);
    assert.equal(await ask("add", "send"), false);
    const later: boolean[] = [];
    for (let n = 0; n < 64; n += 1) {
      later.push(await ask("add", null));
      assert.equal(await ask("other", null), true);
      assert.equal(await ask("add", null, frames), true);
    }
    assert.deepEqual(later, [...later.slice(1).map(() => false), true]);
  });

  test("is answered directly again after one that archives older events", async () => {
    const world = new World({ kinds: [tallyKind("tally")], direct: [] });
    for (let n = 0; n < 150; n += 1) await world.call({ to: TALLY, action: "add", args: { by: 1 }, start: null });
    const archived = world.invoked.filter(({ effects }) => effects.some((effect) => effect.startsWith("send archive-"))).length;
    assert.ok(archived >= 3);
    assert.equal(world.answeredDirectly, 150 - 1 - archived);
  });
});
