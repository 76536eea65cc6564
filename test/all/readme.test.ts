// The example's README is correct: its commands create `troupe` and `keys.json`, and its packet is a move.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runningIn } from "../cli/run.ts";
import { root } from "../serve-child.ts";

const page = (name: string): string => readFileSync(join(root, name), "utf8");
const blocks = Array.from(page("examples/all/README.md").matchAll(/```sh\n([\s\S]*?)```/g), ([, text = ""]) => text);
const [prepare = ""] = blocks;

void test("the two lines that build troupe in a clone are the same on each page", () => {
  const output = execFileSync("bash", ["-c", `${prepare}\nnode --version; troupe --version`], { cwd: root, encoding: "utf8" });
  const { version } = JSON.parse(page("package.json"));
  assert.match(output, /^v24\./);
  assert.equal(output.split("\n")[1], version);
  for (const name of ["README.md", "docs/guide/cli.md"]) assert.ok(page(name).includes(prepare), name);
});

void test("the generated key is accepted, and the packet is answered by a move", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "troupe-readme-"));
  const serve = blocks.find((block) => block.includes("troupe serve")) ?? "";
  const [make = "", args = ""] = serve.split("troupe serve ");
  const key = execFileSync("bash", ["-ec", `${make}\necho $KEY`], { cwd: directory.path, encoding: "utf8" }).trim();
  const given = args
    .replace("&", "")
    .replaceAll("\\\n", "")
    .replaceAll(/(127\.0\.0\.1):\d+/g, "$1:0")
    .replaceAll("data/", `${directory.path}/data/`)
    .trim()
    .split(/\s+/);
  await using running = runningIn({}, "serve", ...given, "--json", "--log", "error");
  await running.said(/"ready":true.*\n/);
  const { packets }: { readonly packets: string } = JSON.parse(running.out().split("\n")[0] ?? "");
  const body = /-d '(\{[^']+)'/.exec(blocks.join("\n"))?.[1] ?? "";
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(packets, { method: "POST", headers, body });
  assert.match(await answer.text(), /You go north/);
});
