// The cost of two indexes for a commit, with turns that leave their rows unchanged and turns that change both, compared with bare
// statements. Also the time of pages and of a rebuild.
import { join } from "node:path";
import { index } from "troupe";
import { DEFAULT_POLICY, type Behaviour } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { sqliteStore } from "troupe/store";
import type { BenchOptions } from "./options.ts";
import { BareTurns } from "./bare-turns.ts";
import { temporaryFolder } from "./cleanup.ts";
import { callers } from "./load.ts";
import { median, times } from "./statistics.ts";
import { print, rounds } from "./table.ts";

interface Incident {
  readonly n: number;
  readonly title: string;
  readonly severity: number;
  readonly status: string;
  readonly notes: number;
}

const CALLERS = 64;

const numberIn = (key: string): number => Number(key.replaceAll(/\D/g, ""));

const incident: Behaviour<Incident> = {
  kind: "incident",
  version: 1,
  policy: { ...DEFAULT_POLICY, mailbox: 100_000 },
  initial: (key) => ({
    n: numberIn(key),
    title: `Disk ${key} is full`,
    severity: numberIn(key) % 5,
    status: numberIn(key) % 3 === 0 ? "resolved" : "open",
    notes: 0,
  }),
  receive: (state, { action }) =>
    action === "note"
      ? { state: { ...state, notes: state.notes + 1 } }
      : { state: { ...state, severity: (state.severity + 1) % 5 }, reply: { ok: null } },
};

const open = index(incident, {
  name: "open",
  where: ({ state }) => state.status !== "resolved",
  pick: ["n", "severity", "status"],
  order: "severity",
  text: ["title"],
});
const all = index(incident, { name: "all", pick: ["n", "severity"], order: "n" });

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  using folder = temporaryFolder();
  await using bare = sqliteStore({ directory: join(folder.path, "bare") });
  await using indexed = sqliteStore({ directory: join(folder.path, "indexed") });
  await using without = await LocalEngine.start({ kinds: [incident], store: bare });
  await using engine = await LocalEngine.start({ kinds: [incident], indexes: [open, all], store: indexed });
  const count = quick ? 2_000 : 100_000;
  const among = `among ${quick ? "2,000" : "100,000"} actors`;
  const start = async (of: LocalEngine): Promise<void> => {
    let next = 0;
    const one = async (): Promise<void> => {
      for (let n = next++; n < count; n = next++) await of.call({ to: `incident/${n}`, action: "note", args: null, start: null });
    };
    await Promise.all(Array.from({ length: CALLERS }, one));
  };
  await start(without);
  await start(engine);
  const burstMs = quick ? 200 : 1_000;
  // Each caller has its own actor. They are spread evenly, and so are their rows.
  const places = Array.from({ length: CALLERS }, (_, caller) => Math.floor((caller * count) / CALLERS));
  const callersOf = (of: LocalEngine, action: string) => () =>
    callers(CALLERS, burstMs, (caller) => of.call({ to: `incident/${places[caller]}`, action, args: null, start: null }));
  const row = (what: string) => `calls on disk that ${what}, ${CALLERS} callers ${among}, of the same without indexes`;
  const [unchanged = [], noted = []] = await rounds(quick ? 3 : 5, callersOf(engine, "note"), callersOf(without, "note"));
  print({ what: row("leave the rows of two indexes as they are"), measured: times(unchanged, noted), unit: "×", least: 0.9 });
  using bareIndexed = new BareTurns(join(folder.path, "bare-indexed.db"), count, 2);
  using bareTurns = new BareTurns(join(folder.path, "bare.db"), count);
  const [changed = [], raised = [], floor = [], bareFloor = []] = await rounds(
    quick ? 3 : 5,
    callersOf(engine, "raise"),
    callersOf(without, "raise"),
    () => bareIndexed.turnsASecond(burstMs, places),
    () => bareTurns.turnsASecond(burstMs, places),
  );
  print({
    what: row("change a row of two indexes"),
    measured: times(changed, raised),
    unit: "×",
    least: 0.9,
    floor: times(floor, bareFloor),
  });
  for (const [what, query] of [
    ["a page of 100, filtered by a value", { where: { status: "open" } }],
    ["a page of 100, filtered by a value, with the count", { where: { status: "open" }, count: true }],
    ["a page of 100, filtered by a broad range", { where: { n: { gte: 10 } } }],
    ["a page of 100, searched by common words", { text: "disk full" }],
    ["a page of one, searched by a rare word", { text: `disk ${count / 2}` }],
  ] as const) {
    const pages: number[] = [];
    let cursor: string | undefined;
    for (let n = 0; n < 100; n += 1) {
      const started = performance.now();
      const page = await engine.query(open, { ...query, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(performance.now() - started);
      cursor = page.next;
    }
    print({ what: `${what} ${among}`, measured: [median(pages)], unit: "ms", target: 5 });
  }
  const anyActor = (of: LocalEngine) => () =>
    callers(CALLERS, burstMs, () =>
      of.call({ to: `incident/${Math.floor(Math.random() * count)}`, action: "raise", args: null, start: null }),
    );
  const [scattered = [], bareScattered = []] = await rounds(quick ? 3 : 5, anyActor(engine), anyActor(without));
  print({ what: row("change a row of two indexes, each time of another actor"), measured: times(scattered, bareScattered), unit: "×" });
  for (const [what, work] of [
    ["rebuilding", () => engine.indexes.rebuild("open")],
    ["verifying", () => engine.indexes.verify("open")],
  ] as const) {
    const started = performance.now();
    await work();
    print({ what: `${what} an index ${among}`, measured: [performance.now() - started], unit: "ms", target: 20_000 });
  }
};
