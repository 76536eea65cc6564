// The documentation site, built as it is published and opened in a real browser: no errors, no broken links, no overflow,
// no requests to other hosts, and a search that finds the page a newcomer looks for.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import * as z from "zod";
import { install, Page } from "../browser/chromium.ts";

const root = resolve(import.meta.dirname, "../..");
const dist = join(root, "site/.vitepress/dist");
/** Visiting all pages takes minutes on a busy machine. */
const PATIENCE_MS = 900_000;

/** A project's site on GitHub Pages is not at the root of its host. */
const BASE = "/troupe/";

const TYPES: ReadonlyMap<string, string> = new Map([
  [".css", "text/css"],
  [".html", "text/html"],
  [".js", "text/javascript"],
  [".svg", "image/svg+xml"],
]);

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://site");
  const file = join(dist, decodeURI(pathname).slice(BASE.length), pathname.endsWith("/") ? "index.html" : "");
  if (!pathname.startsWith(BASE) || !existsSync(file)) response.writeHead(404).end();
  else {
    const headers = { "content-type": TYPES.get(extname(file)) ?? "text/plain", "cache-control": "max-age=600" };
    response.writeHead(200, headers).end(readFileSync(file));
  }
});
let origin = "";
const built = () => globSync("**/*.html", { cwd: dist }).toSorted();

before(async () => {
  await install();
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/docs.ts", "build"], {
    cwd: root,
    env: { ...process.env, DOCS_BASE: BASE },
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  origin = `http://127.0.0.1:${address.port}`;
});
after(() => server.close());

const WIDE = { width: 1440, height: 900, deviceScaleFactor: 1, mobile: false };
const NARROW = { width: 360, height: 740, deviceScaleFactor: 1, mobile: true };

async function openPage(): Promise<Page> {
  const page = await Page.open();
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.command(`${domain}.enable`);
  return page;
}

/** A script that waits until a condition holds, and throws after ten seconds. */
const until = (condition: string): string =>
  `(async () => { for (const end = Date.now() + 10_000; !(${condition}); await new Promise((later) => setTimeout(later, 5))) if (Date.now() > end) throw new Error(${JSON.stringify(condition)}); })()`;

/** Opens an address, and waits until Vue has taken over the page. */
async function visit(page: Page, url: string): Promise<void> {
  const loaded = new Promise<void>((done) => page.on("Page.loadEventFired", () => done()));
  await page.command("Page.navigate", { url });
  await loaded;
  await page.evaluate(until("document.querySelector('#app')?.__vue_app__"));
}

const LOOK = `({
  wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  links: [...document.querySelectorAll("a[href]")].map((link) => link.href),
  ids: [...document.querySelectorAll("[id]")].map(({ id }) => id),
  broken: [...document.images].filter((image) => image.complete && image.naturalWidth === 0 && image.offsetParent !== null).map(({ src }) => src),
  background: getComputedStyle(document.body).backgroundColor,
})`;
const look = z.object({
  wider: z.number(),
  links: z.array(z.string()),
  ids: z.array(z.string()),
  broken: z.array(z.string()),
  background: z.string(),
});

test(
  "every page opens wide, narrow and dark without errors, broken links, overflow or external requests",
  { timeout: PATIENCE_MS },
  async () => {
    await using page = await openPage();
    const faults: string[] = [];
    const elsewhere = new Set<string>();
    let current = "";
    const fault = (what: string): void => void faults.push(`${current}: ${what}`);
    page.on("Runtime.exceptionThrown", (event) => fault(JSON.stringify(event)));
    page.on("Runtime.consoleAPICalled", (event) => {
      const { type } = z.object({ type: z.string() }).parse(event);
      if (type === "error" || type === "warning") fault(JSON.stringify(event));
    });
    page.on("Log.entryAdded", (event) => fault(JSON.stringify(event)));
    page.on("Network.requestWillBeSent", (event) => {
      const { url } = z.object({ request: z.object({ url: z.string() }) }).parse(event).request;
      if (!url.startsWith(origin) && !url.startsWith("data:")) elsewhere.add(`${current}: ${url}`);
    });
    const ids = new Map<string, ReadonlySet<string>>();
    const links = new Map<string, string>();
    const pages = built();
    assert.ok(pages.length > 80, `${pages.length} pages`);
    for (const file of pages) {
      current = file;
      const url = `${origin}${BASE}${file}`;
      await page.command("Emulation.setDeviceMetricsOverride", WIDE);
      await page.command("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "light" }] });
      await visit(page, url);
      const wide = look.parse(await page.evaluate(LOOK));
      await page.command("Emulation.setDeviceMetricsOverride", NARROW);
      await page.command("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
      await page.evaluate(until("document.documentElement.classList.contains('dark')"));
      const narrow = look.parse(await page.evaluate(LOOK));
      if (wide.wider > 0) fault(`${wide.wider} pixels too wide in a window of ${WIDE.width}`);
      if (narrow.wider > 0) fault(`${narrow.wider} pixels too wide in a window of ${NARROW.width}`);
      if (wide.background === narrow.background) fault("it is not darker in the dark");
      for (const image of [...wide.broken, ...narrow.broken]) fault(`the picture ${image} does not load`);
      ids.set(url, new Set(wide.ids));
      for (const link of wide.links) links.set(link, links.get(link) ?? file);
    }
    for (const [link, file] of links) {
      const [address = "", anchor] = link.split("#");
      if (!address.startsWith(`${origin}/`)) continue;
      const to = address.endsWith("/") ? `${address}index.html` : address;
      const known = ids.get(to);
      if (known === undefined && !existsSync(join(dist, to.slice(origin.length + BASE.length))))
        faults.push(`${file}: links to ${to}, which is missing`);
      if (anchor !== undefined && anchor !== "" && !known?.has(decodeURIComponent(anchor)))
        faults.push(`${file}: links to ${to}#${anchor}, which is missing`);
    }
    assert.deepEqual([...new Set(faults)], []);
    assert.deepEqual([...elsewhere], []);
  },
);

const question = z.object({ search: z.string(), pages: z.array(z.string()) });
const peerQuestion = z.object({ search: z.string(), page: z.string() });
const read = (name: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8"));
const questions = [
  ...z.array(question).parse(read("questions.json")),
  ...z
    .array(peerQuestion)
    .parse(read("peer-questions.json"))
    .map(({ search, page }) => ({ search, pages: [page] })),
];

/** Types into the search box. The addresses of the first results, in their order. */
const SEARCH = (words: string): string => `(async () => {
  const until = async (ready) => { for (const end = Date.now() + 20_000; Date.now() < end;) { const found = ready(); if (found) return found; await new Promise((later) => setTimeout(later, 10)); } };
  if (!document.querySelector(".VPLocalSearchBox")) (await until(() => document.querySelector("#local-search button"))).click();
  const box = await until(() => document.querySelector(".VPLocalSearchBox input"));
  const results = () => [...document.querySelectorAll(".VPLocalSearchBox a.result")].map((link) => link.href);
  box.value = "";
  box.dispatchEvent(new Event("input"));
  await until(() => results().length === 0);
  box.value = ${JSON.stringify(words)};
  box.dispatchEvent(new Event("input"));
  return ((await until(() => results().length > 0 && results())) ?? []).slice(0, 3);
})()`;

test("search finds the page that answers a newcomer's question among its first three results", { timeout: PATIENCE_MS }, async () => {
  await using page = await openPage();
  await page.command("Emulation.setDeviceMetricsOverride", WIDE);
  await visit(page, `${origin}${BASE}guide/`);
  const missed: string[] = [];
  for (const { search, pages } of questions) {
    const results = z.array(z.string()).parse(await page.evaluate(SEARCH(search)));
    const found = new Set(results.map((url) => url.slice(origin.length + BASE.length).replace(/\.html(?:#.*)?$/, ".md")));
    if (!pages.some((file) => found.has(file.replace(/^docs\//, "")))) missed.push(`${search}: ${results.join(" ")}`);
  }
  assert.ok(questions.length >= 35, `${questions.length} questions`);
  assert.deepEqual(missed, []);
});

test("each page is also Markdown, and llms.txt and llms-full.txt link to them", () => {
  const llms = readFileSync(join(dist, "llms.txt"), "utf8");
  const listed = [...llms.matchAll(/\]\(([^)]+\.md)\)/g)].map(([, file = ""]) => file);
  assert.ok(listed.length > 60, `${listed.length} pages`);
  assert.deepEqual(
    listed.filter((file) => !existsSync(join(dist, file))),
    [],
  );
  const markdown = new Set(globSync("**/*.md", { cwd: dist }));
  assert.deepEqual(
    built().filter((file) => !["404.html", "index.html"].includes(file) && !markdown.has(file.replace(/html$/, "md"))),
    [],
  );
  const guides = globSync("docs/**/*.md", { cwd: root });
  const whole = readFileSync(join(dist, "llms-full.txt"), "utf8");
  for (const file of guides) {
    const [title = ""] = /^# .+$/m.exec(readFileSync(join(root, file), "utf8")) ?? [];
    assert.ok(whole.includes(title), `${file} is in llms-full.txt`);
  }
  assert.doesNotMatch(llms + whole, /\]\(\.\.?\/(?:\.\.\/)*(?:src|examples\/[\w-]+\/[\w-]+\.ts)\b/);
});
