import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { exportLine } from "../../core/chain/index.ts";
import { sealText } from "../../core/chain/internal.ts";
import type { ChainEvent, Json } from "../../core/contract/index.ts";
import { eventsIn, startLines, idStart, appendEvent } from "./event-lines.ts";

const ID = "tally/main";

interface Step {
  /** `roll`: another text starts. `came`: likewise, with an imported event. */
  readonly as: "next" | "roll" | "born" | "came";
  readonly erased: boolean;
  readonly action: string;
  readonly cause: string | undefined;
  readonly args: Json;
  readonly more: Readonly<Record<string, Json>>;
}

/** Similar to each other, or not at all; and with text that looks like a part of a line. */
const text = fc.oneof(
  fc.constantFrom("", "add", '"', '\\"', "\\", "\n", " ", "life 1 -", '"2"x"4"', "{", '"}', "☃", "𝒳", "\ud800", "0", "1e9"),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const json: fc.Arbitrary<Json> = fc.oneof(text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null));
const any: fc.Arbitrary<Step> = fc.record({
  as: fc.oneof({ weight: 12, arbitrary: fc.constant("next" as const) }, fc.constantFrom("roll" as const, "born" as const, "came" as const)),
  erased: fc.integer({ max: 7, min: 0 }).map((n) => n === 0),
  action: text,
  cause: fc.option(text, { nil: undefined }),
  args: fc.oneof(fc.constant({ by: 1 }), json, fc.array(json, { maxLength: 3 }), fc.dictionary(text, json, { maxKeys: 3 })),
  more: fc.oneof(
    fc.constant({}),
    fc.dictionary(fc.constantFrom("patch", "state", "record"), fc.oneof(json, fc.array(json, { maxLength: 40 }))),
  ),
});

/** Most turns of an actor have few shapes. */
const step: fc.Arbitrary<Step> = fc.oneof(
  any,
  fc
    .tuple(any, fc.constantFrom("add", "note"), text)
    .map(([one, action, note]) => ({ ...one, action, cause: "why", args: { note }, more: {} })),
);

/** The event that a turn would leave. */
function event(seq: number, life: string, parent: string | null, { action, cause, args, more }: Omit<Step, "as" | "erased">): ChainEvent {
  const at = 1_704_067_200_000 + seq;
  const expected = { id: `${life}.${seq}`, to: ID, action, args, at, seed: "0".repeat(32), ...(cause === undefined ? {} : { cause }) };
  const body = JSON.stringify({ message: expected, ...more, version: 1, sent: [], reply: { ok: seq } });
  return sealText({ actor: ID, life, seq, parent, at, type: action, ...(cause === undefined ? {} : { cause }) }, body);
}

interface Chain {
  readonly events: readonly ChainEvent[];
  /** Of each, the seq of its first event. */
  readonly texts: readonly (readonly [seq: number, lines: string])[];
}

function chainOf(steps: readonly Step[]): Chain {
  const events: ChainEvent[] = [];
  const texts: [number, string][] = [];
  let life = "life-0";
  for (const [n, one] of steps.entries()) {
    if (one.as === "born") life = `life-${n}`;
    const parent = events.at(-1)?.id ?? null;
    const { body, ...header } = event(n + 1, life, parent, one);
    const made: ChainEvent = one.erased || body === undefined ? header : { ...header, body };
    events.push(made);
    const last = texts.at(-1);
    if (one.as === "came") texts.push([n + 1, `life ${life} ${parent ?? "-"}\n${exportLine(made)}`]);
    else if (last === undefined || one.as !== "next") texts.push([n + 1, startLines(made, life, parent)]);
    else last[1] = appendEvent(last[1], made);
  }
  return { events, texts };
}

/** A step that differs little from another of its shape. */
const add = (by: number, more: Step["more"] = {}): Omit<Step, "as" | "erased"> => ({ action: "add", cause: "why", args: { by }, more });

/** One life of them, as text, and its lines. */
function written(steps: readonly Omit<Step, "as" | "erased">[]): { events: readonly ChainEvent[]; lines: readonly string[] } {
  const { events, texts } = chainOf(steps.map((one) => ({ ...one, as: "next", erased: false })));
  return { events, lines: (texts[0]?.[1] ?? "").split("\n").slice(1) };
}

describe("C7 events as lines", () => {
  test("are read as they were written, over blocks, lives, imports and erased bodies", () => {
    const seen = { differences: 0, whole: 0, exported: 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 24 }), (steps) => {
        const { events, texts } = chainOf(steps);
        assert.deepEqual(eventsIn(ID, texts.map(([, lines]) => lines).join("\n"), 1), events, "all of them");
        for (const [n, [seq, lines]] of texts.entries()) {
          assert.deepEqual(eventsIn(ID, lines, seq), events.slice(seq - 1, (texts[n + 1]?.[0] ?? Infinity) - 1), "each text alone");
          for (const line of lines.split("\n")) {
            if (line.startsWith("{")) seen.exported += 1;
            else if (!line.startsWith("life ")) seen[line[12] === " " ? "whole" : "differences"] += 1;
          }
        }
      }),
      { seed: 1, numRuns: 400 },
    );
    for (const [what, times] of Object.entries(seen)) assert.ok(times > 250, `${times} ${what}`);
  });

  test("follow an exported one in its life, whether or not that life precedes it", () => {
    const { events } = written([add(1), add(1), add(2)]);
    const [first, second, third] = events;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const lines = appendEvent(appendEvent(exportLine(first), second), third);
    assert.deepEqual(eventsIn(ID, lines, 1), events);
  });

  test("store only the difference to the last complete body, after its number", () => {
    const { events, lines } = written([add(1), add(1), add(22)]);
    const [first, ...others] = events.map(({ id }) => idStart(id));
    assert.equal(lines[0], `${first} ${events[0]?.body}`);
    // Split at its quotes: the message's id, its arguments' end, its time's, and the reply.
    assert.deepEqual(lines.slice(1), [
      `${others[0]}"5"life-0.2"20":1704067200002,"36":2}}`,
      `${others[1]}"5"life-0.3"18":22},"20":1704067200003,"36":3}}`,
    ]);
  });

  test("store a body of another shape completely, as the reference for later ones", () => {
    const other = { patch: { n: [1], log: ["one", "two"] } };
    const { events, lines } = written([add(1), add(2), add(3, other), add(4, other), add(5)]);
    assert.deepEqual(
      lines.map((line) => line[12]),
      [" ", '"', " ", '"', " "],
    );
    for (const n of [1, 3]) assert.ok((lines[n] ?? "").length < (events[n]?.body ?? "").length / 3, lines[n]);
  });

  test("are never longer than their bodies: with little in common they are complete", () => {
    const pad = (n: number): Omit<Step, "as" | "erased"> => add(1, { record: `${n}`.repeat(800) });
    const { events, lines } = written([pad(1), pad(2), pad(2), add(1, { record: "short" })]);
    for (const [n, line] of lines.entries()) assert.ok(line.length <= 12 + 1 + (events[n]?.body ?? "").length, `${n}`);
    assert.deepEqual(
      lines.map((line) => line[12]),
      [" ", " ", '"', '"'],
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 12 }), (steps) => {
        const many = written(steps);
        for (const [n, line] of many.lines.entries()) assert.ok(line.length <= 12 + 1 + (many.events[n]?.body ?? "").length);
      }),
      { seed: 2, numRuns: 100 },
    );
  });
});

test("C7 a text with any changed character is STORE_CORRUPT", () => {
  const list = { record: Array.from({ length: 60 }, (_, n) => `item ${n}`) };
  const last = { record: Array.from({ length: 60 }, (_, n) => (n === 41 ? "123456789" : `item ${n}`)) };
  const { texts, events } = chainOf([list, list, last, last].map((more, n) => ({ ...add(n, more), as: "next", erased: false })));
  const lines = texts[0]?.[1] ?? "";
  assert.deepEqual(eventsIn(ID, lines, 1), events);
  const starts = events.map(({ id }) => lines.indexOf(idStart(id)));
  const [, second = 0] = starts;
  assert.ok(starts.every((at, n) => lines[at + 12] === (n === 0 ? " " : '"')));
  const refused = (changed: string, what: string): void =>
    assert.throws(() => eventsIn(ID, changed, 1), { name: "StoreError", code: "STORE_CORRUPT" }, what);
  let changes = 0;
  // `e` makes a number of pieces that no memory has room for.
  for (let at = second; at < lines.length; at += 1)
    for (const other of ["0", "9", "e", '"', " ", "{", "\n", "☃"]) {
      if (lines[at] === other) continue;
      changes += 1;
      refused(`${lines.slice(0, at)}${other}${lines.slice(at + 1)}`, `${other} at ${at}: ${lines.slice(at - 20, at + 20)}`);
    }
  assert.ok(changes > 1_000);
  for (const at of [6, 43, second - 1, ...starts.map((start) => start + 40)])
    refused(`${lines.slice(0, at)}${lines[at] === "x" ? "y" : "x"}${lines.slice(at + 1)}`, `in the first lines, at ${at}`);
  refused(lines.slice(0, -1), "cut");
  refused(lines.slice(lines.indexOf("\n") + 1), "of no life");
});
