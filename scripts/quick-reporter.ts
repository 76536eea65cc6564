// Owns: what one process of `npm run test:quick` prints: failures, files that are too slow, totals. Does not own: running the tests.
import { relative, resolve } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { inspect, stripVTControlCharacters } from "node:util";

/** Seconds of processor time above which a file belongs to `npm test` only. */
const SLOW_SECONDS = 5;
const root = resolve(import.meta.dirname, "..");
const place = (file = "", line?: number): string => `${relative(root, file)}${line === undefined ? "" : `:${line}`}`;

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seconds = new Map<string, number>();
  const names: string[] = [];
  let passed = 0;
  let failed = 0;
  let before = process.cpuUsage();
  for await (const { type, data } of events) {
    if (type === "test:start") names.splice(data.nesting, Infinity, data.name);
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.nesting === 0) {
      const { user, system } = process.cpuUsage(before);
      before = process.cpuUsage();
      seconds.set(place(data.file), (seconds.get(place(data.file)) ?? 0) + (user + system) / 1e6);
    }
    if (type === "test:pass") {
      if (data.details.type !== "suite") passed++;
      continue;
    }
    const { error } = data.details;
    // It fails with its subtests, which were reported.
    if ("failureType" in error && error.failureType === "subtestsFailed") continue;
    failed++;
    const name = [...names.slice(0, data.nesting), data.name].join(" › ");
    const cause = stripVTControlCharacters(inspect(error.cause ?? error)).replaceAll(/^/gmu, "  ");
    yield `✖ ${name}\n  ${place(data.file, data.line)}\n${cause}\n\n`;
  }
  for (const [file, spent] of seconds)
    if (spent > SLOW_SECONDS)
      yield `${file} took ${spent.toFixed(1)} s of processor time: make it quicker, or add a line "// slow: why".\n`;
  yield `${passed} passed, ${failed} failed\n`;
}
