// Runs the benches, one file per claim of docs/benchmarks.md. Each runs in a process of its own, so that it starts from a clean heap.
import { type ChildProcess, fork } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cpus } from "node:os";
import { env } from "node:process";
import { setTimeout } from "node:timers/promises";
import { type Figures, merged, parseSent, readFigures, writeFigures } from "./figures.ts";
import { parseOptions, usage, UsageError, type Options } from "./options.ts";
import { benchmarkTable, headlineTable, withTable } from "./figure-tables.ts";
import { heading, line, type Summary } from "./row.ts";
import { speedChart } from "./speed-chart.ts";

const all: readonly string[] = [
  "http-call",
  "http-peers",
  "tail",
  "tools-list",
  "wires",
  "in-process",
  "actors",
  "other-actors",
  "durable",
  "start-up",
  "packaged",
  "wake",
  "verify",
  "cluster",
  "packet",
  "packet-search",
  "indexes",
  "guests",
  "sessions",
  "slow-reader",
  "broadcast",
  "listeners",
  "console",
];

/** Benches that install other programs or start many threads. A quick run leaves them out unless it names them. */
const long: readonly string[] = ["http-peers", "other-actors", "cluster", "guests"];

/** Options of Node for a bench. With the default semi-space, the load of `tail` would collect garbage forty times a second, for a millisecond each. */
const flags: Readonly<Record<string, readonly string[]>> = { tail: ["--min-semi-space-size=64", "--max-semi-space-size=64"] };

/** The time of each bench in a quick run. Together with their start-up they take two minutes. */
const quickMs: Readonly<Record<string, number>> = {
  "http-call": 22_000,
  tail: 12_000,
  "tools-list": 7_000,
  wires: 10_000,
  durable: 6_000,
  packaged: 8_000,
  guests: 6_000,
  broadcast: 12_000,
};
const QUICK_MS = 4_000;

const BASELINE = join(import.meta.dirname, "baseline.json");
const BENCHMARKS = join(import.meta.dirname, "../docs/benchmarks.md");
const README = join(import.meta.dirname, "../README.md");
const CHART = join(import.meta.dirname, "../docs/images/speed.svg");

/** The running bench. */
let child: ChildProcess | undefined;
// Waits for the child, which removes its temporary files.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => {
    if (child === undefined) process.exit(130);
    child.once("exit", () => process.exit(130)).kill("SIGTERM");
  });

const SAMPLE_MS = 400;
/** The share of processor time used by other processes beyond which ratios are not meaningful. */
const MAX_BUSY = 0.2;

/** The share of processor time that other processes use, measured while no bench runs. */
const busyShare = async (): Promise<number> => {
  const count = (): readonly [idle: number, whole: number] =>
    cpus().reduce(([idle, whole], { times }) => [idle + times.idle, whole + Object.values(times).reduce((sum, ms) => sum + ms, 0)], [0, 0]);
  const [idleBefore, allBefore] = count();
  await setTimeout(SAMPLE_MS);
  const [idleAfter, allAfter] = count();
  return 1 - (idleAfter - idleBefore) / Math.max(1, allAfter - allBefore);
};

/** Runs a bench and prints its rows as they arrive, without ratios if the machine is busy. Rejects if the bench failed. */
const runBench = async (name: string, { quick }: Options, baseline: Figures | undefined): Promise<Readonly<Record<string, Summary>>> => {
  const share = await busyShare();
  const isBusy = share > MAX_BUSY;
  if (isBusy) console.log(`  The machine is busy: others use ${Math.round(share * 100)} % of its processors, so no ratios are printed.`);
  const rows: Record<string, Summary> = {};
  const running = fork(join(import.meta.dirname, "run-one.ts"), [name, ...(quick ? [String(quickMs[name] ?? QUICK_MS)] : [])], {
    execArgv: [...process.execArgv, ...(flags[name] ?? [])],
  });
  child = running;
  return new Promise((done, fail) => {
    const receive = (message: unknown): void => {
      const { row, summary, note } = parseSent(message);
      if (note !== undefined) console.log(`  ${note}`);
      if (row === undefined || summary === undefined || (isBusy && summary.unit === "×")) return;
      rows[row] = summary;
      console.log(line(row, summary, baseline && (baseline[name]?.[row] ?? null)));
    };
    running.on("message", (message) => {
      try {
        receive(message);
      } catch (error) {
        fail(new Error(`${name} sent what is no row: ${JSON.stringify(message)}`, { cause: error }));
      }
    });
    running.once("error", fail);
    // Not on "exit": messages may still arrive after it.
    running.once("close", (code, signal) => {
      child = undefined;
      if (code === 0) done(rows);
      else fail(new Error(`${name} ended with ${signal ?? code}.`));
    });
  });
};

const main = async (): Promise<number> => {
  const options = parseOptions(process.argv.slice(2), all);
  if (options.help) {
    console.log(usage(all));
    return 0;
  }
  if (options.readme) {
    const figures = readFigures(BASELINE);
    for (const [page, table] of [
      [BENCHMARKS, benchmarkTable(figures)],
      [README, headlineTable(figures)],
    ] as const)
      writeFileSync(page, withTable(readFileSync(page, "utf8"), table));
    writeFileSync(CHART, speedChart(figures));
    console.log("docs/benchmarks.md, README.md and docs/images/speed.svg have the figures of bench/baseline.json.");
    return 0;
  }
  const left = options.quick && options.names.length === all.length ? long : [];
  const baseline = options.compare ? readFigures(BASELINE) : undefined;
  if (options.compare && !existsSync(BASELINE))
    console.log("There is no bench/baseline.json to compare with. Make one: npm run bench -- --json bench/baseline.json");
  // npm changes the working directory; INIT_CWD is where it was started.
  const file = options.json === undefined ? undefined : resolve(env["INIT_CWD"] ?? ".", options.json);
  const failed: string[] = [];
  for (const name of options.names) {
    if (left.includes(name)) continue;
    console.log(`\n${heading(name, options.compare)}`);
    try {
      const rows = await runBench(name, options, baseline);
      if (file !== undefined) writeFigures(file, merged(readFigures(file), { [name]: rows }));
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
      failed.push(name);
    }
  }
  if (left.length > 0) console.log(`\nLeft out, since it was to be quick: ${left.join(", ")}. To have them too, name them.`);
  if (failed.length > 0) console.error(`\nFailed: ${failed.join(", ")}.`);
  return failed.length > 0 ? 1 : 0;
};

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
