// The command removes `Object.prototype.__proto__`, so a key of that name is data in any object of its process.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { troupe } from "./run.ts";

test("a key called __proto__ is data in author code that the troupe command runs", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-prototypes-"));
  const module = join(folder.path, "board.ts");
  writeFileSync(
    module,
    `import { actor } from "troupe";
    const input = { type: "object", properties: { row: { type: "string" }, field: { type: "string" }, value: {} }, required: ["row", "field"] };
    export const board = actor("board", { description: "A board.", initial: () => ({ rows: {} }),
      tools: {
        put: { description: "Puts.", input, run: ({ state, args }) => {
          const row = (state.rows[args.row] ??= {});
          row[args.field] = args.value;
        } },
        get: { description: "Gets.", input, view: ({ state, args }) => state.rows[args.row]?.[args.field] ?? null },
        spoil: { description: "Tries to change what objects inherit.", view: () => {
          const tried = [() => { Object.prototype.principal = "ann"; }, () => { Object.keys = () => []; }, () => { Array.isArray = () => true; }];
          for (const value of [{}, [], "", 0, true])
            for (const name of ["hasOwnProperty", "toString", "constructor", "slice", "call"])
              if (value[name] !== undefined) tried.push(() => { value[name]["call"] = "a caller's text"; });
          return tried.map((change) => { try { change(); return "changed"; } catch (error) { return error.name; } });
        } },
        inherited: { description: "What objects inherit.", view: () => Object.getOwnPropertyNames(Object.prototype) },
      } });`,
  );
  const call = async (tool: string, args: object): Promise<unknown> => {
    const options = ["--module", module, "--data", join(folder.path, "data"), "--start", "--json"];
    const { code, stdout, stderr } = await troupe("call", "board/a", `tools/${tool}`, JSON.stringify(args), ...options);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  assert.deepEqual(await call("get", { row: "__proto__", field: "x" }), { ok: null });
  for (const row of ["a", "__proto__"]) {
    await call("put", { row, field: "__proto__", value: { polluted: true } });
    assert.deepEqual(await call("get", { row, field: "__proto__" }), { ok: { polluted: true } });
  }
  assert.deepEqual(await call("spoil", {}), { ok: Array.from({ length: 3 + 17 }, () => "TypeError") });
  const inherited = await call("inherited", {});
  assert.ok(!JSON.stringify(inherited).includes("__proto__"));
});
