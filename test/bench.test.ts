// How the bench handles figures, answers and options. Its measurements are not tested.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Counted, jsonIn, perConnection, Same } from "../bench/answers.ts";
import { merged, readFigures, writeFigures } from "../bench/figures.ts";
import { Responses, type Volley, warmUp } from "../bench/load.ts";
import { parseOptions, UsageError } from "../bench/options.ts";
import { benchmarkTable, headlineTable, rounded, withTable } from "../bench/figure-tables.ts";
import { change, figure, heading, line, summarize } from "../bench/row.ts";
import { speedChart } from "../bench/speed-chart.ts";
import { beyond, median, quantile, times } from "../bench/statistics.ts";
import { rounds } from "../bench/table.ts";
import { mayTake } from "../bench/time-left.ts";

const KNOWN = ["one", "two", "three"];

describe("the bench's options", () => {
  test("select all without a name, and named ones in the order in which they run", () => {
    assert.deepEqual(parseOptions([], KNOWN), { names: KNOWN, quick: false, compare: false, readme: false, help: false });
    assert.deepEqual(parseOptions(["three", "--quick", "one", "--json", "out.json", "--compare"], KNOWN), {
      names: ["one", "three"],
      quick: true,
      compare: true,
      readme: false,
      help: false,
      json: "out.json",
    });
  });

  test("refuse unknown names and list the known ones", () => {
    for (const args of [["four"], ["--fast"], ["--json"], ["--json", "--quick"]])
      assert.throws(
        () => parseOptions(args, KNOWN),
        (error) => error instanceof UsageError && /Names: one, two, three/.test(error.message),
      );
  });
});

describe("the bench's statistics", () => {
  test("give median and quantiles in any order of samples", () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 3, 2]), 3);
    assert.equal(quantile([5, 4, 3, 2, 1], 0.99), 5);
    assert.equal(quantile([5, 4, 3, 2, 1], 0), 1);
    assert.ok(Number.isNaN(median([])));
  });

  test("compute ratios and differences within the same round", () => {
    assert.deepEqual(times([2, 9], [1, 3]), [2, 3]);
    assert.deepEqual(beyond([2, 9], [1, 3]), [1, 6]);
  });
});

describe("the bench's rounds", () => {
  test("alternate once two consecutive bursts of each agree", async () => {
    const order: string[] = [];
    const values = { a: [1, 9, 9, 3, 4], b: [5, 5, 6, 7] };
    const burst = (name: "a" | "b") => (): number => {
      order.push(name);
      return values[name].shift() ?? 0;
    };
    assert.deepEqual(await rounds(2, burst("a"), burst("b")), [
      [3, 4],
      [6, 7],
    ]);
    assert.equal(order.join(""), "aaabbabab");
  });

  test("begin even if no two bursts agree", async () => {
    let value = 1;
    assert.deepEqual(await rounds(1, () => (value *= 2)), [[64]]);
  });

  test("number at least three, and end when their time is used up", async () => {
    mayTake(0);
    try {
      assert.deepEqual(await rounds(5, () => 1), [[1, 1, 1]]);
    } finally {
      mayTake(Number.POSITIVE_INFINITY);
    }
  });

  test("of requests begin once two bursts agree, and no later than the limit", async () => {
    const seconds = [4, 2, 1, 1, 1];
    let bursts = 0;
    const burst = (): Promise<Volley> => Promise.resolve({ requests: 100, seconds: seconds[bursts++] ?? 1 });
    await warmUp(burst, { requests: 100, ms: 0, mostMs: 60_000 });
    assert.equal(bursts, 4);
    await warmUp(burst, { requests: 1_000_000, ms: 0, mostMs: 0 });
    assert.equal(bursts, 4);
  });
});

describe("the bench's table", () => {
  test("compares a median with its bounds, and a tail's best round with its maximum", () => {
    const row = { what: "it", measured: [3, 1, 2], unit: "µs" } as const;
    assert.deepEqual(summarize(row), { unit: "µs", min: 1, median: 2, max: 3 });
    assert.deepEqual(summarize({ ...row, target: 2, spec: "1 ms" }), {
      unit: "µs",
      min: 1,
      median: 2,
      max: 3,
      limit: "≤ 2",
      ok: true,
      spec: "1 ms",
    });
    assert.deepEqual(summarize({ ...row, floor: [4, 0.5, 1.5] }), { unit: "µs", min: 1, median: 2, max: 3, floor: 1.5 });
    assert.equal(summarize({ ...row, target: 1.9 }).ok, false);
    assert.equal(summarize({ ...row, target: 1, best: true }).ok, true);
    assert.equal(summarize({ ...row, least: 2 }).ok, true);
    assert.equal(summarize({ ...row, least: 2.1 }).ok, false);
    assert.equal(summarize({ ...row, least: 3, best: true }).ok, true);
  });

  test("prints three significant digits", () => {
    assert.deepEqual([0.0456, 1.234, 12.34, 123.4, 49_234.5, 0].map(figure), ["0.046", "1.23", "12.3", "123", "49,235", "0.000"]);
  });

  test("aligns columns, with a baseline too", () => {
    const summary = summarize({ what: "it", measured: [2], unit: "µs", target: 1, floor: [0.75], cpuUs: 15.5 });
    for (const was of [undefined, null, { ...summary, median: 1 }]) {
      const [head, text] = [heading("a bench", was !== undefined), line("it", summary, was)];
      assert.equal(head.indexOf("CPU µs") + "CPU µs".length, text.indexOf("15.5") + "15.5".length);
      assert.equal(head.indexOf("floor") + "floor".length, text.indexOf("0.750") + "0.750".length);
      assert.match(text, /^it, µs .*2\.00.*≤ 1 +0\.750 +15\.5.*OVER$/);
    }
    assert.match(line("it", summary, { ...summary, median: 1 }), /1\.00 +\+100\.0 % +OVER$/);
    assert.match(line("it", summary, null), / none +OVER$/);
  });

  test("gives a change in per cent of the baseline", () => {
    assert.deepEqual([change(2, 1), change(1, 1), change(0, 0), change(0, 1)], ["-50.0 %", "0.0 %", "0 %", ""]);
  });
});

describe("the tables of figures", () => {
  const root = join(import.meta.dirname, "..");
  const figures = readFigures(join(root, "bench/baseline.json"));

  test("match the committed baseline, as `npm run bench -- --readme` writes them", () => {
    for (const [file, table] of [
      ["docs/benchmarks.md", benchmarkTable(figures)],
      ["README.md", headlineTable(figures)],
    ] as const) {
      const page = readFileSync(join(root, file), "utf8");
      assert.equal(page, withTable(page, table));
    }
  });

  test("match the committed chart", () => {
    assert.equal(readFileSync(join(root, "docs/images/speed.svg"), "utf8"), speedChart(figures));
  });

  test("have four rows in README", () => {
    assert.equal(headlineTable(figures).split("\n").length, 2 + 4);
  });

  test("are marked if they miss their limit", () => {
    const { wires = {} } = figures;
    const name = "tools/call: stdio, pipelined, of our HTTP";
    const row = wires[name];
    assert.ok(row !== undefined);
    const of = (ok: boolean): string => benchmarkTable({ ...figures, wires: { ...wires, [name]: { ...row, ok } } });
    assert.match(of(true), /\| ≥ 5 × ours, ≥ 4.5 × the echo \|/);
    assert.match(of(false), /\| ≥ 5 × ours ✗, ≥ 4.5 × the echo \|/);
  });

  test("are refused without the row, floor or limit they need, or a table to replace", () => {
    assert.throws(() => benchmarkTable({ ...figures, wake: {} }), /has no "an actor of 1000000 on disk, woken and read, p50" of wake/);
    assert.throws(() => benchmarkTable({ ...figures, "packet-search": {} }), /none of the rows of a span/);
    const { actors = {}, verify = {} } = figures;
    const without = (rows: typeof actors, part: "floor" | "limit"): typeof actors =>
      Object.fromEntries(
        Object.entries(rows).map(([name, row]) => {
          const rest = { ...row };
          delete rest[part];
          return [name, rest];
        }),
      );
    assert.throws(() => benchmarkTable({ ...figures, actors: without(actors, "floor") }), /has no floor for "an actor begun/);
    assert.throws(() => benchmarkTable({ ...figures, verify: without(verify, "limit") }), /has no limit for "events verified/);
    for (const page of ["# Troupe\n", ""]) assert.throws(() => withTable(page, "| a |\n|---|"), /no table that begins/);
    assert.equal(withTable("x\n| a |\n|---|\n| 1 |\ny\n", "| a |\n|---|\n| 2 |"), "x\n| a |\n|---|\n| 2 |\ny\n");
  });

  test("have three significant digits", () => {
    assert.deepEqual(
      [rounded(53_640, 3), rounded(1.04, 2), rounded(183.4, 3), rounded(0.9143, 2), rounded(999.9, 2), rounded(2_661, 4)],
      ["53,600", "1.0", "183", "0.91", "1,000", "2,661"],
    );
  });
});

test("replace the rows of what ran in a file of figures, and leave the others", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bench-test-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "figures.json");
  const summary = (value: number) => summarize({ what: "", measured: [value], unit: "×", least: 1 });
  assert.deepEqual(readFigures(file), {});
  writeFigures(file, { one: { gone: summary(1) }, two: { stays: summary(2) } });
  writeFigures(file, merged(readFigures(file), { one: { comes: summary(3.00001) } }));
  assert.deepEqual(readFigures(file), { one: { comes: summary(3) }, two: { stays: summary(2) } });
});

describe("the bench's answers", () => {
  const reply = (count: number) => ({ content: [{ type: "text", text: String(count) }] });
  const body = (id: number, result: unknown): string => JSON.stringify({ jsonrpc: "2.0", id, result });

  test("are compared by value, in any order and formatting", () => {
    const answers = new Counted(reply);
    assert.ok(answers.good(body(1, reply(1)), 1));
    assert.ok(answers.good(`event: message\ndata: ${body(2, reply(2))}\n\n`, 2));
    assert.ok(answers.good(JSON.stringify({ result: reply(3), id: 1, jsonrpc: "2.0" }), 1));
    assert.equal(answers.good(body(2, reply(4)), 1), false);
    assert.equal(answers.good(body(1, { ...reply(4), isError: true }), 1), false);
    assert.equal(answers.good(body(1, { content: [{ type: "text", text: "4 and more" }] }), 1), false);
    assert.equal(answers.good('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}', 1), false);
    assert.equal(answers.good("", 1), false);
    assert.equal(answers.flaw(), undefined);
  });

  test("of a counter contain each count once", () => {
    const counts = (...all: readonly number[]): string | undefined => {
      const answers = new Counted(reply);
      for (const count of all) assert.ok(answers.good(body(1, reply(count)), 1));
      return answers.flaw();
    };
    assert.equal(counts(7, 9, 8), undefined);
    assert.match(counts(7, 9) ?? "", /2 replies had counts from 7 to 9/);
    assert.match(counts(1, 2, 2) ?? "", /one was lost or came twice/);
    assert.equal(counts(), undefined);
  });

  test("of connections with their own actors are counted separately", () => {
    const answers = perConnection(() => new Counted(reply));
    for (const id of [0, 5]) assert.ok(answers.good(body(id, reply(1)), id));
    assert.equal(answers.flaw(), undefined);
  });

  test("that repeat one request differ in their id only", () => {
    const answers = new Same({ tools: [] });
    assert.ok(answers.good(body(1, { tools: [] }), 1));
    assert.ok(answers.good(body(1, { tools: [] }), 1));
    assert.equal(answers.good(body(1, { tools: [] }), 2), false);
    assert.equal(answers.good(body(1, { tools: [1] }), 1), false);
  });

  test("are read with a length and in chunks, however they are split", () => {
    const responses = new Responses();
    const lengthy = 'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}';
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"b\r\n4\r\n":2}\r\n0\r\n\r\n';
    for (const [text, wanted] of [
      [lengthy, { a: 1 }],
      [lengthy.replace("1}", "3}"), { a: 3 }],
      [chunked, { b: 2 }],
      [lengthy, { a: 1 }],
    ] as const)
      for (const at of [1, 30, text.length - 1]) {
        assert.equal(responses.add(text.slice(0, at)), undefined);
        assert.deepEqual(jsonIn(responses.add(text.slice(at)) ?? ""), wanted);
      }
  });
});
