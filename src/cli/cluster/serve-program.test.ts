import assert from "node:assert/strict";
import { test } from "node:test";
import { serveProgram } from "./serve-program.ts";

test("a node serves the modules on the engine at ports of its own, and the secret is in no argument #cluster.secret", () => {
  const secret = "ab".repeat(32);
  const { file, args, env } = serveProgram(
    { name: "node-1", node: { host: "127.0.0.1", port: 9081 }, http: { host: "127.0.0.1", port: 3001 } },
    {
      modules: ["a.ts", "b=b.ts"],
      engine: "restate://127.0.0.1:8080?admin=http://127.0.0.1:9070",
      secret,
      graceMs: 5_000,
      log: "warn",
      directory: ({ name }) => `data/${name}`,
    },
  );
  assert.equal(file, process.execPath);
  assert.match(args[0] ?? "", /bin\/troupe\.js$/);
  assert.deepEqual(args.slice(1), [
    "serve",
    "a.ts",
    "b=b.ts",
    "--engine",
    "restate://127.0.0.1:8080?admin=http://127.0.0.1:9070",
    "--node",
    "127.0.0.1:9081",
    "--advertise",
    "http://127.0.0.1:9081",
    "--http",
    "127.0.0.1:3001",
    "--data",
    "data/node-1",
    "--grace",
    "5000",
    "--log",
    "warn",
    "--json",
  ]);
  assert.equal(env["TROUPE_CLUSTER_SECRET"], secret);
});
