// `npm run trace` starts its own server and client.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import * as z from "zod";

const root = resolve(import.meta.dirname, "..");

const traced = z.object({
  files: z.array(z.object({ file: z.string(), functions: z.array(z.string()) })),
  functions: z.number(),
  loaded: z.number(),
});

interface Ran {
  readonly code: unknown;
  readonly output: string;
  readonly errors: string;
}

const trace = (...args: readonly string[]): Promise<Ran> =>
  new Promise((settle) => {
    const script = join(root, "scripts/trace.ts");
    execFile(process.execPath, ["--conditions=troupe-source", script, ...args], { cwd: root }, (error, output, errors) =>
      settle({ code: error?.code ?? 0, output, errors }),
    );
  });

const filesOf = async (...args: readonly string[]): Promise<readonly string[]> => {
  const { code, output, errors } = await trace(...args, "--json");
  assert.equal(code, 0, errors);
  return traced.parse(JSON.parse(output)).files.map(({ file }) => file);
};

/** The table of "Read these first" in ARCHITECTURE.md. */
const firstReads = [...readFileSync(join(root, "ARCHITECTURE.md"), "utf8").matchAll(/^\| \d+ \| `([^`]+)` \|/gm)].map(
  ([, file]) => `src/${file}`,
);

test("each file of 'Read these first' begins with what it owns and does not own", () => {
  for (const file of firstReads) {
    const [comment] = /^(?:\/\/.*\n)+/.exec(readFileSync(join(root, file), "utf8")) ?? [""];
    assert.match(comment, /^\/\/ Owns: [^]*\bDoes not own: /, file);
  }
});

describe("npm run trace", () => {
  for (const era of [[], ["--modern"]])
    test(`prints a call's files from the transport to the store and back, ${era.length === 0 ? "in a session" : "2026-07-28"}`, async () => {
      const files = await filesOf("examples/counter-disk", "add", ...era);
      const at = (folder: string): number => files.findIndex((file) => file.startsWith(folder));
      const order = ["src/mcp/transport/", "src/mcp/gateway/", "src/mcp/source/", "src/core/engine/", "src/core/store/"].map(at);
      assert.ok(!order.includes(-1), files.join("\n"));
      assert.deepEqual(
        order,
        order.toSorted((one, other) => one - other),
      );
    });

  test("ARCHITECTURE's 'Read these first' lists files in the order in which a call and its notification enter them", async () => {
    const args = ["examples/door", "close", "--before", "unlock", "--before", "open"];
    const [call, withListener] = [await filesOf(...args), await filesOf(...args, "--listen")];
    assert.ok(withListener.length > call.length, "a notification takes more files");
    assert.equal(firstReads.length, 12);
    assert.deepEqual(
      withListener.filter((file) => firstReads.includes(file)),
      firstReads,
    );
  });

  test("names the option that helps if the tool is refused", async () => {
    const { code, errors } = await trace("examples/door", "open");
    assert.equal(code, 1);
    assert.match(errors, /open was refused: It is locked\. .*--before/);
  });

  test("states why a server did not start", async () => {
    const { code, errors } = await trace("examples/none", "open");
    assert.equal(code, 1);
    assert.match(errors, /There is no examples\/none/);
  });
});
