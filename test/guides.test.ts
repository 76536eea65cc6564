// The guides are correct: required rows exist, and defaults are those of the code.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { DEFAULT_POLICY } from "../src/core/contract/index.ts";
import { HTTP_LIMITS, TCP_LIMITS } from "../src/mcp/transport/index.ts";

const root = resolve(import.meta.dirname, "..");
const page = (name: string): string => readFileSync(join(root, "docs/guide", name), "utf8");

/** MCP's requirements on consent, privacy, tools, sampling and trust, one per bullet. */
const BULLETS = [
  "Users must explicitly consent to all data access and operations",
  "Users retain control over what data is shared and what actions are taken",
  "Clear UIs for reviewing and authorizing activities",
  "Explicit user consent required before exposing game state data",
  "User data protected with appropriate access controls",
  "No transmission of player data without consent",
  "Tools represent arbitrary code execution and must be treated with caution",
  "Explicit user consent required before invoking any tool",
  "Users understand what each tool does before authorization",
  "Tool descriptions and annotations are considered untrusted unless from trusted servers",
  "Users must explicitly approve any LLM sampling requests",
  "Users control whether sampling occurs and what prompts are sent",
  "Build robust consent and authorization flows",
  "Provide clear documentation of security implications",
  "Implement appropriate access controls and data protections",
  "Follow security best practices in integrations",
  "Consider privacy implications in feature designs",
  "Claude Desktop requires confirmation before executing tools",
  "No current mechanism to permanently trust an MCP server",
  "Each tool invocation requires user approval",
  "Prompts are user-controlled and explicitly selected by users",
];

test("each security requirement of MCP has a row with a mechanism or the host's responsibility #mud.security-guide #spec.2.approval #spec.6.consent #spec.6.tools.consent #spec.6.tools.untrusted #spec.6.documentation #spec.6.trust.server #spec.8.security", () => {
  const rows = page("security-spec.md")
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  for (const bullet of BULLETS) {
    const [, , mechanism = "", whose = ""] = rows.find(([, first]) => first === bullet) ?? [];
    assert.ok(mechanism !== "" || whose.includes("host's"), `the guide has no answer to: ${bullet}`);
  }
});

const KIB = 1_024;
const MIB = KIB * KIB;
const written = (name: string, value: number): string => {
  if (name.endsWith("Ms")) return value >= 3_600_000 ? `${value / 3_600_000} h` : `${value / 1_000} s`;
  if (name.endsWith("Bytes")) return value >= MIB ? `${value / MIB} MiB` : `${value / KIB} KiB`;
  return value.toLocaleString("en-US");
};

const table = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split("\n").flatMap((line) => {
      const [, names = "", values = ""] = line.split("|").map((cell) => cell.trim());
      const found = Array.from(names.matchAll(/`(\w+)`/g), ([, name = ""]) => name);
      const documented = values.split(" · ");
      return found.length > 0 && found.length === documented.length && /^\d/.test(values) && found.every((name) => /^[a-z]/.test(name))
        ? found.map((name, index) => [name, documented[index] ?? ""])
        : [];
    }),
  );

test("the guides to HTTP and TCP have the default limits #secure.tcp-token-time", () => {
  for (const [limits, documented] of [
    [HTTP_LIMITS, table(page("http.md"))],
    [TCP_LIMITS, table(page("transports.md"))],
  ] as const)
    assert.deepEqual(documented, Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, written(name, value)])));
});

test("the page on settings has the policy in effect", () => {
  const documented = page("settings.md");
  const { persistence, owner, idleMs, workMs, minEveryMs, mailbox, maxStateBytes } = DEFAULT_POLICY;
  for (const [name, value] of [
    ["persistence", `\`${persistence}\``],
    ["owner", `\`${owner}\``],
    ["idleMs", `${idleMs / 60_000} min`],
    ["expireMs", "never; 24 h for one of a handle, or of a session without a token"],
    ["workMs", `${workMs / 1_000} s`],
    ["minEveryMs", `${minEveryMs} ms`],
    ["mailbox", mailbox.toLocaleString("en-US")],
    ["maxStateBytes", `${maxStateBytes / MIB} MiB`],
    ["restart", "no bound"],
  ] as const)
    assert.ok(documented.includes(`| \`${name}\` | ${value} |`), name);
});

const sourcesOf = (...patterns: readonly string[]): string =>
  globSync(patterns, { cwd: root, exclude: ["**/*.test.ts", "**/*.fixture.ts"] })
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");
const allIn = (text: string, pattern: RegExp): readonly string[] =>
  [...new Set(Array.from(text.matchAll(pattern), ([, name = ""]) => name))].toSorted();

test("the guide to clusters names the events of peers that nodes warn of, and no other", () => {
  const sources = sourcesOf("src/hosts/cluster/*.ts");
  const [, documented = ""] = page("cluster-operations.md").split("| `peers`, with `what.event`: | |\n");
  const named = allIn(documented.split("| `fault`")[0] ?? "", /`((?:peer|members)-[a-z-]+)`/g);
  const logged = allIn(sources, /event: "([a-z-]+)"/g);
  assert.deepEqual(
    named.filter((event) => !logged.includes(event)),
    [],
  );
  // Operators need not watch for events of success or of bugs in Troupe.
  const warned = allIn(sources, /log\("warning", \{ event: "([a-z-]+)"/g);
  assert.ok(warned.length > 2);
  assert.deepEqual(
    warned.filter((event) => !named.includes(event)),
    [],
  );
});

test("the guide to the command line states where everything is stored", () => {
  const [, directory = ""] = /DEFAULT_DATA = "([^"]+)"/.exec(sourcesOf("src/cli/actor-options.ts")) ?? [];
  assert.ok(directory !== "" && page("serve.md").includes(`without it in \`${directory}\` of the folder`));
});

/** The anchor that GitHub derives from a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

test("every link of a page leads to a page, and to a heading that is there", () => {
  const pages = globSync(["*.md", "docs/**/*.md", "examples/*/README.md"], { cwd: root });
  const texts = new Map(pages.map((file) => [resolve(root, file), readFileSync(join(root, file), "utf8")]));
  const headings = (text: string): readonly string[] =>
    Array.from(text.replace(/```[\s\S]*?```/g, "").matchAll(/^#+ (.+)$/gm), ([, heading = ""]) => anchorOf(heading));
  let followed = 0;
  for (const [file, text] of texts)
    for (const [, path = "", anchor] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g)) {
      const to = path === "" ? file : resolve(dirname(file), path);
      assert.ok(existsSync(to), `${file} leads to ${path}`);
      if (anchor === undefined) continue;
      assert.ok(headings(texts.get(to) ?? "").includes(anchor), `${file} leads to ${path}#${anchor}`);
      followed += 1;
    }
  assert.ok(followed > 50);
});

test("the code of a page fits into its column", () => {
  const pages = globSync(["*.md", "docs/**/*.md", "examples/*/README.md"], { cwd: root });
  const lines = pages.flatMap((file) =>
    Array.from(readFileSync(join(root, file), "utf8").matchAll(/```(?:ts|js)\n([\s\S]*?)```/g), ([, code = ""]) => code.split("\n")).flat(),
  );
  assert.ok(lines.length > 3_000);
  // What begins so is not broken by a formatter, and neither is the page in a text of guide/console.md.
  const isWhole = (line: string): boolean => /^\s*(?:\/\/|\/\*|["`]|test\()/.test(line) || page("console.md").includes(line);
  assert.deepEqual(
    lines.filter((line) => line.length > 80 && !isWhole(line)),
    [],
  );
});

test("the guide to clusters lists all traits", () => {
  const traits = allIn(/export type Trait =([^;]+);/.exec(sourcesOf("src/core/contract/engine.ts"))?.[1] ?? "", /"([a-z-]+)"/g);
  const documented = /\(`traits`\): ([^\n]+)/.exec(page("cluster-differences.md"))?.[1] ?? "";
  assert.deepEqual(allIn(documented, /`([a-z-]+)`/g), traits);
});

test("each fault quotes words of a test's name", () => {
  const faults = readFileSync(join(root, "docs/design/faults.md"), "utf8");
  const named = faults.slice(0, faults.indexOf("## Not prevented"));
  const rows = named.split("\n").filter((line) => line.startsWith("| ") && !/^\| (?:what |the attempt)/.test(line));
  assert.ok(rows.length > 80);
  for (const row of rows) assert.match(row, /"[^"]+" \(`[^`]+\.ts`\)/);
  const tests = [...faults.matchAll(/"([^"]+)" \(`([^`]+)`\)/g)];
  assert.ok(tests.length > 100);
  for (const [, name = "", file = ""] of tests) assert.ok(readFileSync(join(root, file), "utf8").includes(name), `${file}: ${name}`);
});

test("no command of a page is followed by a comment: zsh would pass it on as arguments", () => {
  const pages = globSync("{*.md,docs/**/*.md,examples/**/*.md,create-troupe/**/*.md}", { cwd: root, exclude: ["**/node_modules/**"] });
  const lines = pages.flatMap((name) =>
    Array.from(readFileSync(join(root, name), "utf8").matchAll(/```(?:sh|bash|console)\n([\s\S]*?)```/g), ([, block = ""]) => block)
      .flatMap((block) => block.split("\n"))
      .filter((line) => /(?:^|\s)# /.test(line))
      .map((line) => `${name}: ${line}`),
  );
  assert.ok(pages.length > 100);
  assert.deepEqual(lines, []);
});
