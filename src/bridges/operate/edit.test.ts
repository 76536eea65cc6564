// Owns: edits of a state by an operator. Does not own: who may (bridges/console).
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { actor, fromJsonSchema, index } from "../../core/actor/index.ts";
import { readBody, readHeader, reexecute, verify } from "../../core/chain/index.ts";
import type { ChainEvent } from "../../core/contract/index.ts";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore, sqliteStore } from "../../core/store/index.ts";
import { mergePatch } from "./chain-operations.ts";
import { StateMisfitError } from "./operation-error.ts";
import { engineOperations, storeOperations } from "./operations.ts";

const counter = actor("counter", {
  description: "Counts.",
  state: z.object({ n: z.number().default(0), note: z.string().default("") }),
  tools: { add: { description: "Count on.", run: ({ state }) => (state.n += 1) } },
});
const counts = index(counter, { name: "counts", pick: ["n"], order: "n" });
const ID = counter.id("main");

async function running() {
  const store = memoryStore();
  const engine = await LocalEngine.start({ kinds: [counter], indexes: [counts], store });
  const add = () => engine.call({ to: ID, action: "tools/add", args: {}, start: null });
  await add();
  const events = async (): Promise<readonly ChainEvent[]> => await store.events(ID, 0, 100);
  const operate = engineOperations({ engine, store, kinds: [counter] });
  return { store, engine, add, events, operate, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

test("an edit is an event with a reason and its author, and the chain verifies and replays", async () => {
  await using at = await running();
  const changes: number[] = [];
  at.engine.watch(ID, ({ seq }) => changes.push(seq));
  const done = await at.operate("edit", { actor: ID, state: { n: 40, note: "" }, reason: "Counted wrong.", as: "ann" });
  assert.deepEqual(await at.add(), { ok: 41 });
  assert.deepEqual(changes, [2, 3]);
  const events = await at.events();
  const [, edited] = events;
  assert.ok(edited !== undefined);
  assert.deepEqual(done, { actor: ID, seq: 2, head: edited.id, checked: true });
  assert.equal(readHeader(edited).type, "edit");
  const { message, state } = readBody(edited) ?? {};
  assert.deepEqual(state, { n: 40, note: "" });
  assert.deepEqual(Object(message).args, { head: events[0]?.id, reason: "Counted wrong." });
  assert.deepEqual(Object(message).viewer, { principal: "ann", scopes: [] });
  assert.equal(verify(events).flaw, undefined);
  const { run, taken, mismatches } = reexecute(counter, events);
  assert.deepEqual([run, taken.engine, mismatches], [2, 1, []]);
});

test("a forced edit replays as one that was checked does", async () => {
  await using at = await running();
  await at.operate("edit", { actor: ID, state: { n: "many" }, reason: "Counted wrong.", as: "ann", force: true });
  const { taken, mismatches } = reexecute(counter, await at.events());
  assert.deepEqual([taken.engine, mismatches], [1, []]);
});

test("an edit reaches the indexes of the kind", async () => {
  await using at = await running();
  await at.operate("edit", { actor: ID, patch: { n: 7 }, reason: "Seven." });
  const { items } = await at.engine.query(counts, { where: { n: 7 } });
  assert.deepEqual(
    items.map(({ id }) => id),
    [ID],
  );
});

test("a patch is merged, and null removes a member", async () => {
  assert.deepEqual(mergePatch({ a: 1, b: { c: 2, d: 3 } }, { b: { c: null, e: [null] }, f: "x" }), {
    a: 1,
    b: { d: 3, e: [null] },
    f: "x",
  });
  assert.deepEqual(mergePatch([1], { a: 1 }), { a: 1 });
  assert.deepEqual(mergePatch({ a: 1 }, [2]), [2]);
  const patched = mergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
  assert.equal(Object.getPrototypeOf(patched), Object.prototype);
  assert.deepEqual(Object.keys(Object(patched)), ["__proto__"]);
});

test("an edit is refused without a reason, of a missing, changed or stopped actor, and of too large a state", async () => {
  await using at = await running();
  const edit = (more: object) => at.operate("edit", JSON.parse(JSON.stringify({ actor: ID, state: { n: 1 }, reason: "Wrong.", ...more })));
  await assert.rejects(edit({ reason: " " }), { code: "USAGE" });
  await assert.rejects(edit({ reason: "x".repeat(1_001) }), { code: "USAGE" });
  await assert.rejects(edit({ patch: {} }), { code: "USAGE", message: /either "state".*or "patch"/ });
  await assert.rejects(edit({ actor: "counter/none" }), { code: "NOT_FOUND" });
  await assert.rejects(edit({ actor: "no id" }), { code: "USAGE" });
  await assert.rejects(edit({ head: "0".repeat(64) }), { code: "CHANGED" });
  await assert.rejects(edit({ state: { n: 1, note: "x".repeat(2_000_000) } }), { code: "STATE_TOO_LARGE" });
  await at.engine.stop(ID, "over");
  await assert.rejects(edit({}), { code: "USAGE", message: /has stopped/ });
  assert.equal((await at.events()).length, 2);
});

test("an edit that does not fit the state's schema is refused with the paths, unless it is forced", async () => {
  await using at = await running();
  const edit = (more: object) => at.operate("edit", JSON.parse(JSON.stringify({ actor: ID, reason: "Wrong.", ...more })));
  const misfits = async (more: object): Promise<unknown> => {
    try {
      await edit(more);
    } catch (error) {
      assert.ok(error instanceof StateMisfitError);
      assert.equal(error.code, "STATE_MISFIT");
      return error.misfits.map(({ path }) => path);
    }
    return assert.fail("It was written.");
  };
  assert.deepEqual(await misfits({ state: { n: "1", note: 2 } }), ["/n", "/note"]);
  // Its default would be missing for the actor's code.
  assert.deepEqual(await misfits({ patch: { note: null } }), ["/note"]);
  assert.deepEqual(await misfits({ state: 7 }), [""]);
  assert.equal((await at.events()).length, 1);
  const forced = await edit({ state: { n: "1" }, force: true });
  assert.equal(Object(forced).checked, false);
  const [, event] = await at.events();
  assert.ok(event !== undefined);
  assert.equal(Object(readBody(event)?.message).args.force, true);
});

test("the paths of a schema without a library, of keys with slashes and dots", () => {
  const kind = actor("plain", {
    description: "Plain.",
    state: fromJsonSchema<{ by: Record<string, number> }>({
      type: "object",
      properties: { by: { type: "object", additionalProperties: { type: "number" } } },
      required: ["by"],
    }),
    initial: () => ({ by: {} }),
    tools: {},
  });
  assert.deepEqual(
    kind.misfits?.({ by: { "a/b.c~": "x" } })?.map(({ path }) => path),
    ["/by/a~1b.c~0"],
  );
  assert.deepEqual(
    kind.misfits?.({})?.map(({ path, message }) => [path, message]),
    [["/by", "is required"]],
  );
  assert.deepEqual(kind.misfits?.({ by: {} }), []);
});

test("an actor in memory cannot be edited, since it has no chain", async () => {
  const fleeting = actor("fleeting", {
    description: "Removed soon.",
    state: z.object({ n: z.number().default(0) }),
    persistence: "memory",
    tools: {},
  });
  await using engine = await LocalEngine.start({ kinds: [fleeting] });
  const id = fleeting.id("a");
  await engine.call({ to: id, action: "troupe/begin", args: null, start: null });
  const operate = engineOperations({ engine, kinds: [fleeting] });
  await assert.rejects(operate("edit", { actor: id, state: {}, reason: "Why." }), { code: "USAGE", message: /in memory only/ });
  await assert.rejects(operate("revert", { actor: id, to: 1, reason: "Why." }), { code: "USAGE" });
});

test("an actor whose kind is not served is edited too, and the answer says that nothing was checked", async () => {
  await using at = await running();
  await at.engine[Symbol.asyncDispose]();
  await using engine = await LocalEngine.start({ kinds: [], store: at.store });
  const edited = await engineOperations({ engine, store: at.store, kinds: [] })("edit", { actor: ID, patch: { n: 5 }, reason: "Why." });
  assert.equal(Object(edited).checked, false);
  assert.deepEqual(Object((await engine.read(ID))?.state).n, 5);
});

test("an edit by the store alone, where no engine runs", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-edit-"));
  await using store = sqliteStore({ directory: directory.path });
  {
    await using engine = await LocalEngine.start({ kinds: [counter], store });
    await engine.call({ to: ID, action: "tools/add", args: {}, start: null });
  }
  const operate = storeOperations({
    store,
    engine: {
      async append(id, make) {
        const stored = await store.load(id);
        assert.ok(stored !== undefined);
        const entry = make(stored);
        await store.commit(id, entry);
        return entry;
      },
      letter: async () => false,
    },
  });
  const edited = await operate("edit", { actor: ID, patch: { note: "checked" }, reason: "Noted." });
  // There is no code here that has a schema.
  assert.equal(Object(edited).checked, false);
  await using engine = await LocalEngine.start({ kinds: [counter], store });
  assert.deepEqual((await engine.read(ID))?.state, { n: 1, note: "checked" });
  await assert.rejects(operate("letter", { id: "none", fate: "drop" }), { code: "NOT_FOUND" });
});
