// Kinds that are met through links alone, and to which none leads: a start says so, since nobody else would.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isJsonObject } from "../wire.ts";
import { running } from "./run.ts";

const MODULE = `
import { actor } from "troupe";
const per = "link";
const state = { initial: () => ({ n: 0 }) };
const tools = { use: { description: "Use it.", view: ({ state }) => state.n } };
export const linked = actor("linked", { description: "Linked.", per, ...state, tools });
export const quiet = actor("quiet", { description: "Nothing is offered here.", per, ...state });
export const hall = actor("hall", { description: "A hall.", ...state, links: { "": { kinds: ["linked"], to: () => linked.id("one") } } });
`;
const LOST = `export const lost = actor("lost", { description: "Lost.", per, ...state, tools });`;

for (const [module, more, found] of [
  [MODULE, [], undefined],
  [MODULE + LOST, [], ["lost"]],
  [MODULE + LOST, ["--packets", "127.0.0.1:0", "--no-auth"], ["lost"]],
] as const)
  test(`a start ${found === undefined ? "has no word of what is linked or offers nothing" : "names what nobody meets"} ${more.join(" ")}`, async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-unmet-"));
    const file = join(folder.path, "module.ts");
    writeFileSync(file, module);
    await using server = running("serve", file, "--http", "127.0.0.1:0", "--json", ...more);
    await server.said(/"ready":true/);
    const said: unknown = JSON.parse(/.*kinds-not-met.*/.exec(server.err())?.[0] ?? "{}");
    assert.ok(isJsonObject(said));
    assert.deepEqual(said["kinds"], found);
    if (found !== undefined) assert.match(String(said["what"]), /Name each as the `kind` of another's link, or among its `kinds`/);
  });
