import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connect, type Player, type Way, type Which } from "../../test/clients.ts";
import { serveChild } from "../../test/serve-child.ts";
import { eventually } from "../../test/transport/settle.ts";
import { type Cell, type Mark, outcomeOf, turnOf } from "./rules.ts";

const V1: Which = { sdk: "v1", era: "legacy" };
const V2: Which = { sdk: "v2", era: "legacy" };
const MODERN: Which = { sdk: "v2", era: "modern" };
const CHANGED = "notifications/tools/list_changed";
const BOARD = "mcp://tic-tac-toe/state/board";

const isCell = (value: unknown): value is Cell => value === "X" || value === "O" || value === " ";
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

const toolsOf = async (player: Player): Promise<readonly string[]> =>
  (await player.tools()).map(({ name }) => name).filter((name) => name !== "wait_for_change");

const boardOf = async (player: Player, uri = BOARD): Promise<readonly Cell[]> => {
  const board: unknown = JSON.parse(await player.read(uri));
  assert.ok(Array.isArray(board));
  return board.filter(isCell);
};

const notificationsOf = (player: Player): number => player.heard.filter(({ method }) => method === CHANGED).length;

/** A file with the API keys of three users. */
function keys() {
  const folder = mkdtempSync(join(tmpdir(), "troupe-keys-"));
  const file = join(folder, "keys.json");
  const of = (name: string): string => `${name} ${"k".repeat(32)}`.replaceAll(" ", "-");
  const names = ["xenia", "otto", "zoe"];
  writeFileSync(file, JSON.stringify(Object.fromEntries(names.map((name) => [name, createHash("sha256").update(of(name)).digest("hex")]))));
  return {
    file,
    headersOf: (name: string) => ({ headers: { authorization: `Bearer ${of(name)}` } }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

// Games with each outcome: X wins, O wins, a draw.
const GAMES: readonly (readonly number[])[] = [
  [0, 3, 1, 4, 2],
  [0, 3, 1, 4, 8, 5],
  [0, 1, 2, 4, 3, 5, 7, 6, 8],
];

/** Plays the games. After each move, checks the tools, the board and the notifications of both players against the rules. */
async function playAll(players: Readonly<Record<Mark, Player>>): Promise<void> {
  const both = [players.X, players.O];
  assert.deepEqual(await toolsOf(players.X), ["play"]);
  assert.deepEqual(await toolsOf(players.O), []);
  let changes = 0;
  const bothNotified = async (): Promise<void> => {
    changes += 1;
    await eventually(() => both.every((player) => notificationsOf(player) >= changes), `both are notified of change ${changes}`);
  };
  for (const moves of GAMES) {
    const board: Cell[] = Array.from({ length: 9 }, () => " ");
    for (const cell of moves) {
      const mark = turnOf(board);
      assert.ok(mark !== undefined);
      const [mine, other] = mark === "X" ? both : both.toReversed();
      assert.ok(mine !== undefined && other !== undefined);
      await assert.rejects(other.call("play", { cell }), /Unknown tool/, "not their turn");
      const taken = board.findIndex((one) => one !== " ");
      if (taken >= 0) assert.match((await mine.call("play", { cell: taken })).text, /is taken/);
      assert.equal((await mine.call("play", { cell: 9 })).isError, true);
      board[cell] = mark;
      const played = await mine.call("play", { cell });
      assert.equal(played.isError, false, played.text);
      assert.ok(isRecord(played.structured) && isRecord(played.structured["changed"]));
      assert.deepEqual(played.structured["changed"]["board"], board);
      await bothNotified();
      const over = outcomeOf(board) !== undefined;
      assert.deepEqual(await toolsOf(mine), over ? ["again"] : []);
      assert.deepEqual(await toolsOf(other), over ? ["again"] : ["play"]);
      for (const player of both) assert.deepEqual(await boardOf(player), board);
    }
    assert.equal(JSON.parse(await players.O.read("mcp://tic-tac-toe/state/outcome")), outcomeOf(board));
    await players.O.call("again");
    await bothNotified();
    assert.deepEqual(await toolsOf(players.X), ["play"]);
  }
  // After one round trip of each, all earlier notifications have arrived.
  for (const player of both) await boardOf(player);
  for (const player of both)
    assert.equal(notificationsOf(player), changes, `${player.name}: as many notifications as changes of its own list`);
}

describe("tic-tac-toe", () => {
  it("two official clients of the legacy era play whole games, notified of changes of their own list only #agentic.call.changed #agentic.viewers #agentic.tic-tac-toe", async () => {
    using secret = keys();
    await using served = await serveChild(["examples/tic-tac-toe", "--api-keys", secret.file]);
    const way: Way = { http: served.ready.http ?? "" };
    await using x = await connect(way, V1, secret.headersOf("xenia"));
    await x.tools();
    await using o = await connect(way, V2, secret.headersOf("otto"));
    await o.tools();
    await playAll({ X: x, O: o });
    await using z = await connect(way, V1, secret.headersOf("zoe"));
    assert.deepEqual(await toolsOf(z), [], "the third user watches");
    assert.equal((await boardOf(z)).join(""), " ".repeat(9));
  });

  it("a client of the modern era plays one of the legacy era #agentic.tic-tac-toe", async () => {
    using secret = keys();
    await using served = await serveChild(["examples/tic-tac-toe", "--api-keys", secret.file, "--lists", "dynamic"]);
    const way: Way = { http: served.ready.http ?? "" };
    await using x = await connect(way, MODERN, secret.headersOf("xenia"));
    await x.tools();
    await using o = await connect(way, V1, secret.headersOf("otto"));
    await o.tools();
    await x.listen({ toolsListChanged: true });
    await playAll({ X: x, O: o });
  });

  it("without keys each session of the legacy era is a player #agentic.viewers", async () => {
    await using served = await serveChild(["examples/tic-tac-toe"]);
    const way: Way = { http: served.ready.http ?? "" };
    await using x = await connect(way, V2);
    await x.tools();
    await using o = await connect(way, V1);
    await o.tools();
    await playAll({ X: x, O: o });
  });

  it("wait_for_change returns the move of the other player #agentic.wait", async () => {
    await using served = await serveChild(["examples/tic-tac-toe"]);
    const way: Way = { http: served.ready.http ?? "" };
    await using x = await connect(way, V1);
    await x.tools();
    await using o = await connect(way, V2);
    const first = await o.call("wait_for_change", { timeout: 0 });
    assert.ok(isRecord(first.structured) && first.structured["timedOut"] === true);
    const waiting = o.call("wait_for_change", { keys: ["your_turn"], since: first.structured["since"] });
    await x.call("play", { cell: 4 });
    const { structured } = await waiting;
    assert.ok(isRecord(structured));
    assert.deepEqual(structured["changed"], { your_turn: true });
    assert.equal(structured["timedOut"], false);
    const { since } = structured;
    assert.equal((await o.call("play", { cell: 0 })).isError, false);
    const missed = await o.call("wait_for_change", { since });
    assert.ok(isRecord(missed.structured) && isRecord(missed.structured["changed"]), "a change between two calls is returned immediately");
    assert.ok("board" in missed.structured["changed"]);
  });

  it("over stdio one client plays both sides, in either era #agentic.states.violating", async () => {
    for (const which of [V1, V2, MODERN]) {
      const data = mkdtempSync(join(tmpdir(), "troupe-game-"));
      try {
        await using alone = await connect({ stdio: "examples/tic-tac-toe", data, more: ["--lists", "dynamic"] }, which);
        assert.deepEqual(await toolsOf(alone), ["x.play"]);
        assert.equal((await alone.call("x.play", { cell: 4 })).isError, false);
        assert.deepEqual(await toolsOf(alone), ["o.play"]);
        assert.equal((await boardOf(alone, "mcp://tic-tac-toe/o/state/board"))[4], "X");
        assert.equal(
          JSON.parse(await alone.read("mcp://tic-tac-toe/o/state/outcome")),
          null,
          "a state that does not fit its schema is served",
        );
      } finally {
        rmSync(data, { recursive: true, force: true });
      }
    }
  });
});
