// The test kit of the published package, in common test runners.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newProject, type Project, type Ran } from "./project.ts";
import { failing, passing } from "./suite.ts";

interface Runner {
  /** The first lines of a suite. */
  readonly head: string;
  readonly run: (project: Project, file: string) => Promise<Ran>;
  /** Its output for three passed tests. */
  readonly passed: RegExp;
}

const runners: Readonly<Record<string, Runner>> = {
  "node-test": {
    head: 'import { test } from "node:test";',
    run: (project, file) => project.run("node", ["--test", file]),
    passed: /pass 3\n[\s\S]*fail 0/,
  },
  vitest: {
    head: 'import { test } from "vitest";',
    run: (project, file) => project.run("vitest/vitest.mjs", ["run", file]),
    passed: /Tests +3 passed/,
  },
  jest: {
    head: "",
    run: (project, file) => project.run("jest/bin/jest.js", [file], { NODE_OPTIONS: "--experimental-vm-modules" }),
    passed: /Tests: +3 passed, 3 total/,
  },
};

describe("troupe/testing", () => {
  let project: Project | undefined;
  before(async () => {
    const files = Object.entries(runners).flatMap(([name, { head }]) => [
      [`${name}-good.test.js`, passing(head)],
      [`${name}-bad.test.js`, failing(head)],
    ]);
    project = await newProject(Object.fromEntries(files));
  });
  after(() => project?.[Symbol.asyncDispose]());

  for (const [name, { run, passed }] of Object.entries(runners)) {
    test(`passes under ${name}`, async () => {
      assert.ok(project);
      const { code, output } = await run(project, `${name}-good.test.js`);
      assert.match(output, passed);
      assert.equal(code, 0, output);
    });

    test(`fails readably under ${name}`, async () => {
      assert.ok(project);
      const { code, output } = await run(project, `${name}-bad.test.js`);
      assert.equal(code, 1, output);
      assert.match(output, /The tool's text is "this", not that/);
    });
  }
});
