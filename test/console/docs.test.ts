// The program and each request of the pages about the console work.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { lines, running, runningScript, troupe } from "../cli/run.ts";
import { root } from "../serve-child.ts";

const guide = (name: string): string => readFileSync(join(root, "docs/guide", name), "utf8");
const blocks = (page: string, language: string): readonly string[] =>
  Array.from(page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``, "g")), ([, code = ""]) => code);

const linkIn = (text: string): { readonly page: string; readonly token: string } => {
  const [, page = "", token = ""] = /(http:\/\/[^\s"]+\/console)#token=([\w-]+)/.exec(text) ?? [];
  return { page, token };
};

/** `curl` with the few options that the page uses, as a request. */
function requestOf(command: string, variables: Readonly<Record<string, string>>): Request {
  const filled = command.replaceAll("\\\n", " ").replaceAll(/\$(\w+)/g, (_, name: string) => variables[name] ?? "");
  const words = Array.from(filled.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g), ([, double, single, plain]) => double ?? single ?? plain ?? "");
  const headers = new Headers();
  let method = "GET";
  let body: string | undefined;
  let url = "";
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] ?? "";
    const value = (): string => words[(at += 1)] ?? "";
    if (word === "-H") {
      const [name = "", text = ""] = value().split(": ");
      headers.set(name, text);
    } else if (word === "-d") [method, body] = ["POST", value()];
    else if (word === "-X") method = value();
    else if (!/^-s?N?$/.test(word)) url = word;
  }
  return new Request(url, { method, headers, ...(body !== undefined && { body }) });
}

test("the requests of the page on the console's API are answered", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-console-docs-"));
  const data = join(folder.path, "data");
  const module = "examples/counter-disk";
  assert.equal((await troupe("call", "counter/main", "tools/add", "--start", "--data", data, "--module", module)).code, 0);
  await using server = running("dev", module, "--http", "127.0.0.1:0", "--data", data, "--json");
  await server.said(/"ready":true/);
  const { page, token } = linkIn(JSON.stringify(lines(server.out())[0]));
  const commands = blocks(guide("console-api.md"), "sh").flatMap((block) => block.match(/^curl (?:.*\\\n)*.*$/gm) ?? []);
  assert.ok(commands.length >= 10);
  for (const command of commands) {
    const response = await fetch(requestOf(command, { CONSOLE: page, TOKEN: token }));
    assert.equal(response.status, 200, command);
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    const text = new TextDecoder().decode(value);
    await reader?.cancel();
    assert.match(text, command.includes("-sN") ? /^event: \w+\n?/ : /^[{[]/, command);
    assert.doesNotMatch(text, /event: failed/, command);
  }
});

test("the program of the page on the console serves it", { timeout: 60_000 }, async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-console-program-"));
  const program = blocks(guide("console.md"), "ts").find((block) => block.includes("consoleFor(")) ?? "";
  const here = program.replace("port: 3000", "port: 0").replace('"data"', JSON.stringify(join(folder.path, "data")));
  await using served = runningScript({ args: ["--conditions=troupe-source", "--input-type=module-typescript", "--eval", here] });
  await served.said(/#token=/);
  const { page, token } = linkIn(served.out());
  const about = await fetch(`${page}/api`, { headers: { authorization: `Bearer ${token}` } });
  const { kinds, can }: { readonly kinds?: unknown; readonly can?: unknown } = Object(await about.json());
  assert.match(JSON.stringify(kinds), /"kind":"counter"/);
  assert.match(JSON.stringify(can), /"run".*"traffic"/);
  assert.equal((await fetch(`${page}/api`)).status, 401);
});
