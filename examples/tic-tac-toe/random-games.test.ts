import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Viewer } from "troupe/contract";
import { listed } from "troupe/source";
import { SimulatedClock } from "troupe/testing";
import { ticTacToe } from "./index.ts";
import { type Board, EMPTY, type Mark, outcomeOf, turnOf } from "./rules.ts";

const seat = (principal: string): Viewer => ({ principal, scopes: [] });
const MARKS = ["X", "O"] as const;
const VIEWERS: Readonly<Record<Mark, Viewer>> = { X: seat("xenia"), O: seat("otto") };

const act = fc.record({
  mark: fc.constantFrom(...MARKS),
  tool: fc.constantFrom("play", "play", "play", "again"),
  cell: fc.integer({ min: -1, max: 9 }),
});

const toolsNow = (board: Board, mark: Mark): readonly string[] =>
  outcomeOf(board) === undefined ? (turnOf(board) === mark ? ["play"] : []) : ["again"];

test("in random games each player is offered what the rules allow, and notified only of changes of its own list #agentic.tic-tac-toe", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 20, maxLength: 80 }), async (acts) => {
      using source = ticTacToe();
      const notified = { X: 0, O: 0 };
      const toolsOf = async (mark: Mark): Promise<readonly string[]> =>
        listed(await source.surface(VIEWERS[mark]), "dynamic")
          .tools.map(({ name }) => name)
          .filter((name) => name !== "wait_for_change");
      for (const mark of MARKS) {
        await toolsOf(mark);
        source.watch(VIEWERS[mark], (ref) => (notified[mark] += ref === undefined ? 1 : 0));
      }
      let board: Board = EMPTY;
      const changes = { X: 0, O: 0 };
      for (const { mark, tool, cell } of acts) {
        const before = board;
        const isOffered = toolsNow(board, mark).includes(tool);
        const reply = await source.act(VIEWERS[mark], `tools/${tool}`, tool === "play" ? { cell } : {}, {});
        if (isOffered && tool === "again") board = EMPTY;
        if (isOffered && tool === "play" && board[cell] === " ") board = board.with(cell, mark);
        assert.equal("ok" in reply, board !== before, JSON.stringify(reply));
        await new Promise((resolve) => setImmediate(resolve));
        for (const side of MARKS) {
          assert.deepEqual(await toolsOf(side), toolsNow(board, side));
          if (toolsNow(before, side).join() !== toolsNow(board, side).join()) changes[side] += 1;
        }
        assert.deepEqual(notified, changes);
      }
    }),
    { numRuns: 50 },
  );
});

test("a side is free again when its player has been away for ten minutes", async () => {
  const clock = new SimulatedClock();
  using source = ticTacToe({ clock });
  const canPlay = async (name: string): Promise<boolean> =>
    listed(await source.surface(seat(name)), "dynamic").tools.some((tool) => tool.name === "play");
  const states = async (name: string): Promise<number> => listed(await source.surface(seat(name)), "dynamic").resources.length;
  assert.ok(await canPlay("xenia"));
  const stop = source.watch(seat("otto"), () => undefined);
  assert.equal(await canPlay("otto"), false);
  assert.equal(await states("zoe"), 2, "a spectator sees the board and the outcome");
  await clock.advance(10 * 60_000);
  assert.ok(await canPlay("yves"), "xenia's side");
  assert.equal(await states("zoe"), 2, "otto listens, so his side stays taken");
  stop();
});

test("a game that both players have left starts over, even with a spectator", async () => {
  const clock = new SimulatedClock();
  using source = ticTacToe({ clock });
  const join = async (name: string) => listed(await source.surface(seat(name)), "dynamic");
  await join("xenia");
  await join("otto");
  await join("zoe");
  const stop = source.watch(seat("zoe"), () => undefined);
  assert.ok("ok" in (await source.act(seat("xenia"), "tools/play", { cell: 4 }, {})));
  await clock.advance(10 * 60_000);
  await join("yves");
  assert.ok("ok" in (await source.act(seat("yves"), "tools/play", { cell: 4 }, {})), "X begins, on an empty board");
  stop();
});

test("the game of a player without a name ends when that player leaves", async () => {
  const clock = new SimulatedClock();
  using source = ticTacToe({ clock });
  const play = (name: string, tool: `tools/${string}`, cell: number) => source.act(seat(name), tool, { cell }, {});
  await source.surface(seat("xenia"));
  await clock.advance(6 * 60_000);
  assert.ok("ok" in (await play("local", "tools/x.play", 0)));
  await clock.advance(6 * 60_000);
  assert.ok("refused" in (await play("local", "tools/o.play", 0)), "xenia has left, and the cell is still taken");
  await clock.advance(11 * 60_000);
  await source.surface(seat("local"));
  assert.ok("ok" in (await play("local", "tools/x.play", 0)), "another game");
});
