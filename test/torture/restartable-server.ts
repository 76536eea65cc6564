import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root } from "../serve-child.ts";

/** One process of a server, from its start to its end. */
interface Life {
  readonly child: ChildProcess;
  /** Its address, or undefined if it ended before it was ready. */
  readonly url: Promise<string | undefined>;
  readonly ended: Promise<number | string | null>;
}

/** A `troupe serve` that is killed and started again on the same directory. */
export class RestartableServer implements AsyncDisposable {
  readonly data: string;
  /** Lines on standard error of all processes. */
  readonly log: string[] = [];
  kills = 0;
  readonly #args: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  #life: Life | undefined;
  #ready = false;
  #over = false;
  #open = Promise.withResolvers<string>();

  constructor(args: readonly string[], options: { readonly data?: string; readonly environment?: Readonly<Record<string, string>> } = {}) {
    this.data = options.data ?? mkdtempSync(join(tmpdir(), "troupe-torture-"));
    this.#args = args;
    this.#environment = options.environment ?? {};
  }

  /** The address of the running process, or of the next one. */
  get url(): Promise<string> {
    return this.#open.promise;
  }

  /** Starts a process. Resolves with its address once it is ready, or undefined if it ended before. */
  start(): Promise<string | undefined> {
    if (this.#over) throw new Error("This server was disposed of.");
    const child = spawn(
      process.execPath,
      [join(root, "bin/troupe.js"), "serve", ...this.#args, "--http", "127.0.0.1:0", "--data", this.data, "--json", "--log", "warn"],
      { cwd: root, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...this.#environment } },
    );
    const ended = new Promise<number | string | null>((settle) => child.once("close", (code, signal) => settle(signal ?? code)));
    createInterface({ input: child.stderr }).on("line", (line) => this.log.push(line));
    const first = new Promise<string | undefined>((settle) => {
      createInterface({ input: child.stdout }).once("line", (line) => {
        const ready: { http: string } = JSON.parse(line);
        settle(ready.http);
      });
      void ended.then(() => settle(undefined));
    });
    const url = first.then((address) => {
      if (address !== undefined && this.#life?.child === child) this.#tell(address);
      return address;
    });
    this.#life = { child, url, ended };
    return url;
  }

  #tell(address: string): void {
    this.#open.resolve(address);
    this.#ready = true;
  }

  // Callers that wait already go on waiting, for the next process that becomes ready.
  #shut(): void {
    if (this.#ready) this.#open = Promise.withResolvers();
    this.#ready = false;
  }

  /** Sends SIGKILL. Resolves when the process has ended. */
  async kill(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    this.kills += 1;
    // From here on `url` waits for the next process, even if this one still prints its address.
    this.#life = undefined;
    this.#shut();
    life.child.kill("SIGKILL");
    await life.ended;
  }

  /** Sends SIGTERM. Resolves with the exit code. */
  async stop(): Promise<number | string | null> {
    const life = this.#life;
    this.#life = undefined;
    this.#shut();
    life?.child.kill("SIGTERM");
    return (await life?.ended) ?? null;
  }

  /** Resolves with the exit code, or the signal that ended it. */
  get ended(): Promise<number | string | null> {
    return this.#life?.ended ?? Promise.resolve(null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    this.#life?.child.kill("SIGKILL");
    await this.#life?.ended;
    rmSync(this.data, { recursive: true, force: true });
  }
}
