import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { installPinned } from "../install-pinned.ts";

const here = import.meta.dirname;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;
const isFunction = (value: unknown): value is (...given: readonly unknown[]) => Promise<unknown> => typeof value === "function";

/** Installs the bundler, the browser and its driver if they are missing. Throws if that fails: nothing may be skipped. */
export const install = (): Promise<void> => installPinned(here);

/** Does for the sources what package.json's `browser` does for the package. */
const browserPlatform = {
  name: "browser-platform",
  setup: (build: {
    onResolve(filter: { readonly filter: RegExp }, run: (args: { readonly importer: string }) => object | undefined): void;
  }) =>
    build.onResolve({ filter: /^\.\/node\.ts$/ }, ({ importer }) =>
      importer === join(here, "../../src/core/platform/index.ts") ? { path: join(here, "../../src/core/platform/browser.ts") } : undefined,
    ),
};

/** Bundles a module into one script for a page, as an application's bundler would. */
export const bundle = async (entry: string): Promise<string> => {
  const esbuild: unknown = await import(pathToFileURL(join(here, "node_modules/esbuild/lib/main.js")).href);
  if (!isRecord(esbuild) || !isFunction(esbuild["build"])) throw new Error("esbuild has no build");
  const built = await esbuild["build"]({
    entryPoints: [join(here, entry)],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    conditions: ["troupe-source"],
    plugins: [browserPlatform],
    logLevel: "silent",
  });
  const files = isRecord(built) ? built["outputFiles"] : undefined;
  const file: unknown = Array.isArray(files) ? files[0] : undefined;
  if (!isRecord(file) || typeof file["text"] !== "string") throw new Error("esbuild made no file");
  return file["text"];
};

/** The path of the browser, unpacked once: the package would leave it in the machine's temporary folder. */
export async function executable(): Promise<string> {
  const folder = join(here, "node_modules/.cache/chromium");
  if (existsSync(folder)) return join(folder, "chromium");
  mkdirSync(dirname(folder), { recursive: true });
  const before = process.env["TMPDIR"];
  const own = mkdtempSync(`${folder}-`);
  process.env["TMPDIR"] = own;
  try {
    const name = basename(await unpacked());
    if (name !== "chromium") throw new Error(`The browser is called ${name}.`);
    // Another test may have unpacked it at the same time; use that.
    try {
      renameSync(own, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
      rmSync(own, { recursive: true, force: true });
    }
    return join(folder, name);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
}

async function unpacked(): Promise<string> {
  const module: unknown = await import(pathToFileURL(join(here, "node_modules/@sparticuz/chromium/build/index.js")).href);
  const chromium = isRecord(module) ? module["default"] : undefined;
  const path = typeof chromium === "function" && "executablePath" in chromium ? chromium.executablePath : undefined;
  if (!isFunction(path)) throw new Error("chromium has no executablePath");
  const found = await path();
  if (typeof found !== "string") throw new Error("chromium has no path");
  return found;
}

/** A tab of a real browser, driven by its debugging protocol. */
export class Page implements AsyncDisposable {
  readonly #close: () => Promise<void>;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Readonly<Record<string, unknown>>) => void>();
  readonly #listeners = new Map<string, (params: unknown) => void>();
  #count = 0;

  private constructor(socket: WebSocket, close: () => Promise<void>) {
    this.#socket = socket;
    this.#close = close;
    socket.addEventListener("message", ({ data }) => {
      const answer: unknown = JSON.parse(String(data));
      if (!isRecord(answer)) return;
      if (typeof answer["method"] === "string") this.#listeners.get(answer["method"])?.(answer["params"]);
      else {
        this.#waiting.get(Number(answer["id"]))?.(answer);
        this.#waiting.delete(Number(answer["id"]));
      }
    });
  }

  static async open(): Promise<Page> {
    const profile = mkdtempSync(join(tmpdir(), "troupe-browser-"));
    const flags = [
      "--headless=shell",
      "--no-sandbox",
      "--disable-gpu",
      "--no-zygote",
      "--remote-debugging-port=0",
      `--user-data-dir=${profile}`,
    ];
    const child = spawn(await executable(), [...flags, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] });
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const close = async (): Promise<void> => {
      child.kill("SIGKILL");
      await exited;
      rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
    };
    try {
      const port = await new Promise<string>((resolve, reject) => {
        let output = "";
        child.stderr.on("data", (chunk: Buffer) => {
          output += chunk.toString();
          const found = /DevTools listening on ws:\/\/[^:]+:(\d+)/.exec(output)?.[1];
          if (found !== undefined) resolve(found);
        });
        child.once("exit", () => reject(new Error(`The browser ended: ${output}`)));
      });
      const made: unknown = await (await fetch(`http://127.0.0.1:${port}/json/new?about:blank`, { method: "PUT" })).json();
      const url = isRecord(made) ? String(made["webSocketDebuggerUrl"]) : "";
      const socket = new WebSocket(url);
      await new Promise<void>((resolve, reject) => {
        socket.addEventListener("open", () => resolve());
        socket.addEventListener("error", () => reject(new Error(`The page at ${url} cannot be spoken to.`)));
      });
      return new Page(socket, close);
    } catch (error) {
      await close();
      throw error;
    }
  }

  /** Calls `listen` with the parameters of each such event of the protocol. The event's domain must be enabled. */
  on(event: string, listen: (params: unknown) => void): void {
    this.#listeners.set(event, listen);
  }

  /** Runs a command of the debugging protocol. Returns its result; throws if the browser refuses it. */
  async command(method: string, params: object = {}): Promise<unknown> {
    this.#count += 1;
    const id = this.#count;
    const answered = new Promise<Readonly<Record<string, unknown>>>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`The browser refused ${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** Evaluates and awaits an expression. Throws what it threw. */
  async evaluate(expression: string): Promise<unknown> {
    const result = await this.command("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (!isRecord(result) || "exceptionDetails" in result) throw new Error(`The page threw: ${JSON.stringify(result)}`);
    return isRecord(result["result"]) ? result["result"]["value"] : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.#close();
  }
}
