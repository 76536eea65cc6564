// A real server with the console, and its page in a real browser, for the tests of the console's pages.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as z from "zod";
import { axeScript, type Browser, launchBrowser, type Page, type Tab } from "../browser/playwright.ts";

const root = resolve(import.meta.dirname, "../..");
export interface ConsoleOptions {
  /** Modules below the repository: `examples/incident-desk`. */
  readonly modules: readonly string[];
  /** More options of `troupe dev`. */
  readonly args?: readonly string[];
}

export interface Look {
  /** Default: light. */
  readonly theme?: "light" | "dark";
  /** Default: 1440. */
  readonly width?: number;
  readonly height?: number;
  /** Language of the browser. Default: en-GB. */
  readonly locale?: string;
}

/** Opens a page of the console of any server in a tab of its own. */
export async function openConsole(
  browser: Browser,
  { origin, token }: { readonly origin: string; readonly token: string },
  path: string,
  { theme = "light", width = 1440, height = 900, locale = "en-GB" }: Look = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    locale,
  });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  const opened = new ConsolePage(page, context, origin);
  await page.goto(`${origin}/console${path === "/" ? "" : path}#token=${token}`);
  await page.locator("main h1").first().waitFor();
  return opened;
}

export const tokenIn = (link: URL): string => new URLSearchParams(link.hash.slice(1)).get("token") ?? "";

/** `troupe dev` with the console, in its own process and folder, and a browser. */
export class ConsoleFixture implements AsyncDisposable {
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  readonly token: string;
  readonly #server: ChildProcess;
  readonly #browser: Browser;
  readonly #folder: string;
  readonly #clients: Client[] = [];

  private constructor(link: URL, server: ChildProcess, browser: Browser, folder: string) {
    this.origin = link.origin;
    this.token = tokenIn(link);
    this.#server = server;
    this.#browser = browser;
    this.#folder = folder;
  }

  static async start({ modules, args = [] }: ConsoleOptions): Promise<ConsoleFixture> {
    const folder = mkdtempSync(join(tmpdir(), "troupe-console-"));
    let server: ChildProcess | undefined;
    try {
      const [link, browser] = await Promise.all([
        new Promise<URL>((found, failed) => {
          const options = ["--http", "127.0.0.1:0", "--data", join(folder, "data"), ...args];
          server = spawn(process.execPath, ["bin/troupe.js", "dev", ...modules, ...options], {
            cwd: root,
            stdio: ["ignore", "pipe", "pipe"],
          });
          let output = "";
          const read = (chunk: Buffer): void => {
            output += chunk.toString();
            const address = /http:\/\/\S+\/console#token=[\w-]+/.exec(output)?.[0];
            if (address !== undefined) found(new URL(address));
          };
          server.stdout?.on("data", read);
          server.stderr?.on("data", read);
          server.once("exit", () => failed(new Error(`The server ended: ${output}`)));
        }),
        launchBrowser(),
      ]);
      if (server === undefined) throw new Error("There is no server.");
      return new ConsoleFixture(link, server, browser, folder);
    } catch (error) {
      server?.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
      throw error;
    }
  }

  /** An MCP client of the server, with a session. Closed at the end. */
  async connect(name = "test-client", headers: Readonly<Record<string, string>> = {}): Promise<Client> {
    const client = new Client({ name, version: "1.0.0" });
    const transport = new StreamableHTTPClientTransport(new URL("/mcp", this.origin), { requestInit: { headers: { ...headers } } });
    await client.connect(transport);
    this.#clients.push(client);
    return client;
  }

  /** An MCP client that acts as this user, which development mode allows. */
  async connectAs(viewer: { readonly principal: string; readonly claims?: object }, name?: string): Promise<Client> {
    const { token } = await this.api("/viewer-tokens", z.object({ token: z.string() }), viewer);
    return await this.connect(name, { authorization: `Bearer ${token}` });
  }

  /** Sends a request to the console's API and parses the answer by `schema`. With a body it is a POST. */
  async api<T>(path: string, schema: z.ZodType<T>, body?: object): Promise<T> {
    const response = await fetch(`${this.origin}/console/api${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${response.status} ${text}`);
    return schema.parse(JSON.parse(text));
  }

  /** Opens a page of the console: `/actors`. */
  async open(path = "/", look: Look = {}): Promise<ConsolePage> {
    return await openConsole(this.#browser, this, path, look);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#clients.map((client) => client.close()));
    await this.#browser.close();
    const ended = new Promise<void>((done) => this.#server.once("exit", () => done()));
    if (this.#server.exitCode === null && this.#server.kill("SIGTERM")) {
      const hard = setTimeout(() => this.#server.kill("SIGKILL"), 10_000);
      await ended;
      clearTimeout(hard);
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

const violations = z.array(
  z.object({ id: z.string(), help: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })) }),
);

/** A page of the console in a tab. It collects errors and requests to other hosts. */
export class ConsolePage implements AsyncDisposable {
  readonly page: Page;
  readonly #context: Tab;
  readonly #faults: string[] = [];

  constructor(page: Page, context: Tab, origin: string) {
    this.page = page;
    this.#context = context;
    page.on("pageerror", (error) => this.#faults.push(`threw: ${error.stack ?? error.message}`));
    // A violation of the content security policy is an error in the console, too.
    page.on("console", (message) => {
      // The page itself displays answers that are not 2xx.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) this.#faults.push(message.text());
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(`${origin}/`) && !/^(?:data|blob):/.test(request.url()))
        this.#faults.push(`requested ${request.url()}`);
    });
  }

  /** Asserts no errors, no requests to other hosts, no overflow and no findings of axe. With CONSOLE_SHOTS=dir it saves a screenshot. */
  async check(name: string): Promise<void> {
    const folder = process.env["CONSOLE_SHOTS"];
    if (folder !== undefined) await this.page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
    assert.deepEqual(this.#faults, [], `${name}: faults`);
    const wider: unknown = await this.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert.equal(wider, 0, `${name} is wider than its window`);
    assert.deepEqual(await this.#axe(), [], `${name}: axe`);
  }

  /** Makes the server unreachable. */
  async setOffline(offline: boolean): Promise<void> {
    await this.#context.setOffline(offline);
  }

  async #axe(): Promise<readonly string[]> {
    // Uses the debugging protocol, which the page's content security policy does not restrict.
    if ((await this.page.evaluate("typeof axe")) === "undefined") await this.page.evaluate(axeScript());
    const found = violations.parse(
      await this.page.evaluate("axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)"),
    );
    return found.map(
      ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html} ${failureSummary ?? ""}`).join("\n")}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
