import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as z from "zod";

const entry = z.object({ optionalDependencies: z.record(z.string(), z.string()).default({}) });
const lockFile = z.object({ packages: z.record(z.string(), entry) });

test("the lock file has the packages of every platform, which `npm ci` requires #repository.install", () => {
  const { packages } = lockFile.parse(JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")));
  const missing = Object.entries(packages).flatMap(([place, { optionalDependencies }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${place}/node_modules/${name}` in packages),
    ),
  );
  assert.deepEqual(missing, []);
});
