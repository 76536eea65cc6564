import { describe, it, test } from "node:test";
import { actor } from "../../core/actor/index.ts";
import type { Json, OfferRef, Viewer } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { FakeEngine } from "../../../test/source/fake-engine.ts";
import { quiet } from "../../../test/source/world.ts";
import { cast } from "./index.ts";
import { MemberMarks } from "./content-marks.ts";

import assert from "node:assert/strict";
import * as z from "zod";

const ana: Viewer = { principal: "ana", scopes: [] };

const board = actor("board", {
  description: "A board and its talk.",
  per: "shared",
  persistence: "memory",
  state: z.object({ cells: z.array(z.string()).default([]), words: z.int().default(0), open: z.boolean().default(true) }),
  tools: {
    put: { description: "Puts.", input: z.object({ cell: z.string() }), run: ({ state, args }) => void state.cells.push(args.cell) },
    say: { description: "Says.", run: ({ state }) => void (state.words += 1) },
    shut: { description: "Shuts, and says so.", run: ({ state }) => void ((state.open = !state.open), (state.words += 1)) },
    turn: { description: "Shuts or opens.", run: ({ state }) => void (state.open = !state.open) },
    look: { description: "Looks.", enabled: ({ state: { open } }) => open, view: () => "" },
  },
  resources: {
    cells: { uri: "board://cells", reads: ["cells"], view: ({ state: { cells } }) => cells.join() },
    talk: { uri: "board://talk", reads: ["words", "open"], view: ({ state: { words, open } }) => `${words} ${open}` },
    all: { uri: "board://all", view: ({ state }) => JSON.stringify(state) },
    cell: {
      uri: "board://cells/{n}",
      reads: ["words"],
      choices: { n: ({ state: { cells } }) => cells },
      view: ({ state: { words } }) => `${words}`,
    },
  },
});

const PLACES = {
  "in this process": () => LocalEngine.start({ kinds: [board] }),
  "elsewhere, where each look has a copy": async () => new FakeEngine([board]),
};

test("C8 members are not compared across lives of an actor, whose numbers begin again", () => {
  for (const copies of [false, true]) {
    const members = new MemberMarks(copies);
    const isSame = (seq: number): boolean => members.isSame("resources/talk", { id: "board/a", seq, state: { words: 0 } }, ["words"]);
    assert.deepEqual([isSame(10), isSame(10), isSame(11), isSame(2), isSame(4)], [false, true, true, false, false]);
  }
});

for (const [where, started] of Object.entries(PLACES))
  describe(`C8 a resource that reads certain members of a state that is ${where}`, () => {
    const flagsAfter = async (...calls: readonly (readonly [tool: OfferRef, args?: Json])[]): Promise<ReadonlySet<string>> => {
      await using engine = await started();
      const source = cast({ engine, kinds: [board], listMode: "dynamic" });
      await source.act(ana, "tools/put", { cell: "first" }, {});
      const flags: (OfferRef | "lists")[] = [];
      const undo = source.watch(ana, (ref) => flags.push(ref ?? "lists"));
      await quiet();
      for (const [tool, args = {}] of calls) await source.act(ana, tool, args, {});
      await quiet();
      undo();
      return new Set(flags);
    };

    it("C8 notifies when a turn wrote one of them, and only then", async () => {
      assert.deepEqual(await flagsAfter(["tools/say"]), new Set(["resources/talk", "resources/all", "resources/cell"]));
      assert.deepEqual(await flagsAfter(["tools/put", { cell: "a" }]), new Set(["resources/cells", "resources/all", "resources/cell"]));
      assert.deepEqual(
        await flagsAfter(["tools/put", { cell: "a" }], ["tools/say"]),
        new Set(["resources/cells", "resources/talk", "resources/all", "resources/cell"]),
      );
    });

    it("C8 notifies when the turn changed a list too", async () => {
      assert.deepEqual(await flagsAfter(["tools/shut"]), new Set(["lists", "resources/talk", "resources/all", "resources/cell"]));
    });

    it("C8 notifies when they are restored: the state in between may have been read", async () => {
      const there = await flagsAfter(["tools/turn"], ["tools/turn"]);
      assert.deepEqual(there, new Set(["lists", "resources/talk", "resources/all", "resources/cell"]));
    });
  });
