// Owns: what one process of `npm run test:quick` prints: failures, the slowest files, totals. Does not own: running the tests.
import { relative, resolve } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { inspect, stripVTControlCharacters } from "node:util";

const root = resolve(import.meta.dirname, "..");
const place = (file = "", line?: number): string => `${relative(root, file)}${line === undefined ? "" : `:${line}`}`;

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seconds = new Map<string, number>();
  const names: string[] = [];
  let passed = 0;
  let failed = 0;
  for await (const { type, data } of events) {
    if (type === "test:start") names.splice(data.nesting, Infinity, data.name);
    if (type !== "test:pass" && type !== "test:fail") continue;
    const file = place(data.file);
    // Events arrive after their tests, so only the duration that they bring is that of the test.
    if (data.nesting === 0) seconds.set(file, (seconds.get(file) ?? 0) + data.details.duration_ms / 1_000);
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
  const slowest = [...seconds].toSorted(([, one], [, other]) => other - one).slice(0, 3);
  yield `Slowest: ${slowest.map(([file, spent]) => `${file} ${spent.toFixed(1)} s`).join(", ")}
`;
  yield `${passed} passed, ${failed} failed\n`;
}
