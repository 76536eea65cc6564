import assert from "node:assert/strict";
import { test } from "node:test";
import { types } from "node:util";
import * as fc from "fast-check";
import { create } from "mutative";
import { apply, diff } from "../chain/index.ts";
import { diffChanges } from "../chain/patch.ts";
import type { Json } from "../contract/index.ts";
import { freezeDeep } from "../contract/internal.ts";
import { openDraft } from "./draft.ts";

/** One edit: which kind, the path of the part, the path of another part, and numbers and a value to use. */
interface Step {
  readonly how: number;
  readonly at: readonly number[];
  readonly from: readonly number[];
  readonly a: number;
  readonly b: number;
  readonly value: Json;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const text = (value: unknown): string => JSON.stringify(value);
const isList = (value: unknown): value is unknown[] => Array.isArray(value);

const key = fc.constantFrom("a", "b", "c", "d", "7", "__proto__", "constructor");
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.oneof(fc.constantFrom(null, true, "x", 0, -0), fc.integer({ min: -9, max: 9 })),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  ),
}));
const base = fc
  .array(fc.tuple(key, json), { maxLength: 6 })
  .map((entries): Readonly<Record<string, Json>> => JSON.parse(text(Object.fromEntries(entries))));
const path = fc.array(fc.nat(6), { maxLength: 4 });
/** An edit of kinds 0 to `most`. */
const stepOf = (most: number): fc.Arbitrary<Step> =>
  fc.record({ how: fc.nat(most), at: path, from: path, a: fc.nat(6), b: fc.nat(6), value: json });
/** The kinds that a plain object takes too. */
const plainStep = stepOf(23);
const step = stepOf(25);

/** The part at the end of the path, or the last one that exists. */
function partAt(state: object, [first, ...rest]: readonly number[]): object {
  if (first === undefined) return state;
  const names = Object.keys(state);
  const next: unknown = Reflect.get(state, names[first % names.length] ?? "");
  return isObject(next) ? partAt(next, rest) : state;
}

const holds = (part: unknown, other: object): boolean =>
  part === other || (isObject(part) && Object.keys(part).some((name) => holds(Reflect.get(part, name), other)));

const NAMES = ["a", "b", "c", "d", "7", "e", "constructor"];

/** Freezes a value that is assigned to a draft, below which it can still be written; not one assigned to a plain object. */
const frozenFor = (part: object, value: unknown, deep: boolean): unknown =>
  !types.isProxy(part) || !isObject(value) ? value : deep ? freezeDeep(value) : Object.freeze(value);

/** Applies one edit to a draft or a plain object. The results are compared too. */
function edit(state: object, { how, at, from, a, b, value: given }: Step): unknown {
  const part = partAt(state, at);
  const value: unknown = structuredClone(given);
  const other = partAt(state, from);
  const name = isList(part) ? String(part.length === 0 ? 0 : a % part.length) : (NAMES[a] ?? "a");
  switch (how) {
    case 0:
    case 1:
      return Reflect.set(part, name, value);
    case 2:
      return isList(part) ? part.pop() === undefined : Reflect.deleteProperty(part, name);
    case 3:
    case 4:
    case 5:
      // An alias, which later edits write through either name. Cycles have a test of their own.
      return holds(other, part) ? undefined : Reflect.set(part, name, other);
    case 6:
      return Object.assign(part, isList(part) ? [] : { e: value, a: b }) === part;
    case 7:
      return holds(other, part) ? undefined : Reflect.set(part, name, isList(other) ? [...other] : { ...other });
    case 8:
      return holds(other, part) ? undefined : Reflect.set(part, name, { inner: other, own: [value, other] });
    case 9:
      return Object.keys(part).map((one) => [one in part, Object.getOwnPropertyDescriptor(part, one)?.enumerable]);
    case 10:
      return text(Object.entries(part));
    case 11:
      return Object.assign(part, part) === part;
  }
  if (how === 24 || how === 25) return Reflect.set(part, name, frozenFor(part, value, how === 25));
  if (!isList(part)) return Reflect.ownKeys(part);
  switch (how) {
    case 12:
      return part.push(value, b);
    case 13:
      return text(part.shift());
    case 14:
      return part.unshift(b, value);
    case 15:
      return text(b === 0 ? part.splice(a - 3) : part.splice(a - 3, b - 1, value));
    case 16:
      // oxlint-disable-next-line unicorn/no-array-sort -- in place is what is tested
      return text(part.sort((one, two) => (text(one) < text(two) ? -1 : 1)));
    case 17:
      // oxlint-disable-next-line unicorn/no-array-reverse -- in place is what is tested
      return part.reverse() === part;
    case 18:
      return part.copyWithin(a, b) === part;
    case 19:
      return part.fill(b, a) === part;
    case 20:
      part.length = Math.min(part.length, a);
      return part.length;
    case 21:
      return part.length > 1 ? part.push(part.shift()) : 0;
    case 22:
      return text([part.indexOf(part[a]), part.indexOf(b, a - 3), part.includes(value, a), part.lastIndexOf(b), part.lastIndexOf("x", -2)]);
    default:
      return [Array.isArray(part), ...part.keys()];
  }
}

function assertFrozen(value: unknown): void {
  if (!isObject(value)) return;
  assert.ok(Object.isFrozen(value), text(value));
  for (const item of Object.values(value)) assertFrozen(item);
}

test("C3 random edits do the same to a draft as to a plain object, the base unchanged #actors.rollback #actors.draft", () => {
  fc.assert(
    fc.property(base, fc.array(fc.array(step, { maxLength: 10 }), { maxLength: 3 }), (start, turns) => {
      let state: object = freezeDeep(structuredClone(start));
      for (const steps of turns) {
        const before = text(state);
        const plain: object = JSON.parse(before);
        const draft = openDraft(state);
        for (const one of steps) {
          assert.deepEqual(edit(draft.state, one), edit(plain, one));
          assert.equal(text(draft.state), text(plain));
          assert.equal(text(state), before);
        }
        const next = draft.finish()?.after ?? state;
        assert.equal(text(next), text(plain));
        assert.equal(text(state), before);
        assertFrozen(next);
        state = next;
      }
    }),
    { numRuns: 1_500 },
  );
});

test("a draft's changes give the same patch as comparing everything", () => {
  fc.assert(
    fc.property(base, fc.array(step, { maxLength: 6 }), (start, steps) => {
      const state = freezeDeep(structuredClone(start));
      const draft = openDraft(state);
      for (const one of steps) edit(draft.state, one);
      const changes = draft.finish();
      const next = changes?.after ?? state;
      const patch = diffChanges(state, next, 1_000_000, changes);
      assert.equal(text(patch), text(diff(state, next)));
      if (patch !== undefined) assert.equal(text(apply(state, patch)), text(next));
      else assert.equal(text(next), text(state));
    }),
    { numRuns: 1_500 },
  );
});

test("a draft's growth is an upper bound, and 0 only if nothing differs", () => {
  const bytes = (value: unknown): number => Buffer.byteLength(text(value));
  fc.assert(
    fc.property(
      base,
      fc.array(fc.tuple(step, fc.constantFrom<unknown>("é\u0000", 1e21, -0.1, true, null, 7)), { maxLength: 4 }),
      (start, steps) => {
        const state = freezeDeep(structuredClone(start));
        const draft = openDraft(state);
        for (const [one, value] of steps) {
          const part = partAt(draft.state, one.at);
          const name = Object.keys(part)[one.a];
          if (name === undefined || one.b === 0) edit(draft.state, one);
          else Reflect.set(part, name, value);
        }
        const changes = draft.finish();
        const next = changes?.after ?? state;
        const growth = changes === undefined ? 0 : changes.growth;
        if (growth === undefined) return;
        assert.equal(growth === 0, diff(state, next) === undefined);
        assert.ok(bytes(next) <= bytes(state) + growth, `${text(state)} ${text(next)} ${growth}`);
        assert.equal(text(Object.keys(next)), text(Object.keys(state)));
      },
    ),
    { numRuns: 1_500 },
  );
});

test("growth is unknown for values that are not JSON and for assigned objects", () => {
  const state = freezeDeep({ n: 1, list: [{ n: 1 }] });
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, undefined, 1n, "\ud800", Symbol("s"), () => 1, new Date(0), {}, []]) {
    for (const at of [[], [1, 0]]) {
      const draft = openDraft(state);
      Reflect.set(partAt(draft.state, at), "n", value);
      const changes = draft.finish();
      assert.ok(changes !== undefined);
      assert.equal(changes.growth, undefined);
    }
  }
});

// Mutative 2.0.0 is the oracle, except for the keys `__proto__` and `constructor`, which it does not treat like a plain object.
test("random edits end in the same state as with mutative", () => {
  const named = (value: Json): boolean => /"(?:__proto__|constructor)"/.test(text(value));
  fc.assert(
    fc.property(base, fc.array(plainStep, { maxLength: 8 }), (start, steps) => {
      fc.pre(!named(start) && !steps.some(({ value, a }) => named(value) || NAMES[a] === "constructor"));
      const state = freezeDeep(structuredClone(start));
      const draft = openDraft(state);
      for (const one of steps) edit(draft.state, one);
      const theirs = create<object>(structuredClone(start), (theirDraft) => {
        for (const one of steps) edit(theirDraft, one);
      });
      assert.equal(text(draft.finish()?.after ?? state), text(theirs));
    }),
    { numRuns: 1_000 },
  );
});
