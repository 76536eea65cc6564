// Owns: reading components that need glue of jco: finding jco, running it in a thread, and storing its output. Does not own: checking such components (linkable.ts).
import { readFileSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { checkOptions, type OptionTable, type Clock, type ContentStore, type Digest, systemClock } from "../../../core/contract/index.ts";
import type { Component } from "../component/component.ts";
import { readComponent } from "../component/read-component.ts";
import { messageOf, WasmError } from "../wasm-error.ts";
import { type Linkable, readLinkable } from "./linkable.ts";

/** The options of `createComponentReader`. */
export interface ComponentReaderOptions {
  /** Stores glue across restarts. Absent: each process generates it again. */
  readonly contents?: ContentStore;
  /** The file from which jco is resolved, like an import of that file. Default: this file. */
  readonly from?: string;
  readonly clock?: Clock;
}

const OPTIONS: OptionTable<ComponentReaderOptions> = { contents: true, from: true, clock: true };

/**
 * Reads components like `readComponent`. If jco is installed, it also reads those that need generated glue; otherwise they are
 * refused with `WasmError` NEEDS_JCO. Glue is generated in a separate thread, for one component at a time.
 */
export function createComponentReader(options: ComponentReaderOptions = {}): (bytes: Uint8Array) => Component | Promise<Component> {
  checkOptions("createComponentReader", options, OPTIONS);
  const { contents, from = import.meta.url, clock = systemClock } = options;
  const store = contents && new GlueStore(contents);
  let queue: Promise<unknown> = Promise.resolve();

  async function glueFor(jco: Jco, linkable: Linkable, bytes: Uint8Array): Promise<Transpiled> {
    const { digest } = linkable.component;
    const stored = await store?.get(digest, jco);
    if (stored !== undefined) return stored;
    const fresh = await transpile(jco, bytes, clock);
    await store?.put(digest, jco, fresh);
    return fresh;
  }

  async function readWithGlue(jco: Jco, bytes: Uint8Array): Promise<Component> {
    const linkable = readLinkable(bytes);
    const turn = queue.then(() => glueFor(jco, linkable, bytes));
    queue = turn.catch(() => undefined);
    return withGlue(linkable, await turn);
  }

  return (bytes) => {
    try {
      return readComponent(bytes);
    } catch (error) {
      const jco = error instanceof WasmError && error.code === "NEEDS_JCO" ? findJco(from) : undefined;
      if (jco === undefined) throw error;
      return readWithGlue(jco, bytes);
    }
  };
}

/** Takes only the script from jco. The core modules are those that were read and checked. */
function withGlue({ component, main, modules, wasi }: Linkable, { script, modules: digests }: Transpiled): Component {
  const others: Record<string, Uint8Array> = {};
  let mainName: string | undefined;
  for (const [name, digest] of Object.entries(digests)) {
    const module = modules.get(digest);
    if (digest === main) mainName = name;
    else if (module !== undefined) others[name] = module;
    else
      throw new WasmError(
        "BAD_COMPONENT",
        `jco rewrote the core module ${name}, which was read otherwise: install another version of jco.`,
      );
  }
  if (mainName === undefined) throw new WasmError("BAD_COMPONENT", "jco left the component's main core module away: build it again.");
  return { ...component, glue: { script, main: mainName, modules: others, wasi } };
}

/** An installed version of jco. */
interface Jco {
  /** The URL of its module. */
  readonly url: string;
  /** `@bytecodealliance/jco-transpile 0.15.0` */
  readonly version: string;
}

/** The part of jco that is used, and jco itself, which depends on that part but may not make it resolvable. */
const PACKAGES = ["@bytecodealliance/jco-transpile", "@bytecodealliance/jco"];

/** Resolves jco from that file; undefined if it is not installed. */
function findJco(from: string): Jco | undefined {
  for (const name of PACKAGES) {
    try {
      const manifest = findPackageJSON(name, from);
      if (manifest === undefined) continue;
      const { version }: { readonly version?: unknown } = JSON.parse(readFileSync(manifest, "utf8"));
      return { url: pathToFileURL(createRequire(from).resolve(name)).href, version: `${name} ${String(version)}` };
    } catch {
      // Not installed, or incomplete: try the next package.
    }
  }
  return undefined;
}

export interface TranspileStart {
  readonly url: string;
  readonly bytes: Uint8Array;
}

export interface Transpiled {
  /** The body of a function that returns `instantiate`. */
  readonly script: string;
  /** Digests of the core modules, by their names in the script. */
  readonly modules: Readonly<Record<string, Digest>>;
}

const ENTRY = new URL(import.meta.url.endsWith(".ts") ? "./transpile-worker.ts" : "./transpile-worker.js", import.meta.url);

const LONGEST_MS = 120_000;
const HEAP_MB = 1_024;
/** A component of 12 MB with WASI gives a script of 1 MB. */
const MAX_SCRIPT = 16 * 1_048_576;

const failed = (why: string): WasmError =>
  new WasmError(
    "BAD_COMPONENT",
    `jco made no glue for the component: ${why}. Build it again, or link it by \`wasm-tools component new\` alone.`,
  );

/** Runs jco in a thread of its own. Throws `WasmError` BAD_COMPONENT. */
async function transpile(jco: Jco, bytes: Uint8Array, clock: Clock): Promise<Transpiled> {
  const { promise, resolve, reject } = Promise.withResolvers<Transpiled>();
  const start: TranspileStart = { url: jco.url, bytes };
  const worker = new Worker(ENTRY, {
    workerData: start,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    execArgv: [],
    env: {},
    name: "troupe-jco",
  });
  worker.on("message", resolve);
  worker.on("error", (error: unknown) => reject(failed(messageOf(error))));
  worker.on("exit", () => reject(failed("its thread ended")));
  const undo = clock.after(LONGEST_MS, () => reject(failed(`it took more than ${LONGEST_MS / 1_000} seconds`)));
  try {
    const transpiled = await promise;
    if (transpiled.script.length > MAX_SCRIPT)
      throw failed(`it has ${transpiled.script.length} characters, and at most ${MAX_SCRIPT} are run`);
    return transpiled;
  } finally {
    undo();
    await worker.terminate();
  }
}

/** No guest can write to this space: the names of theirs are UUIDs. */
const SPACE = "jco";
const PAGE = 100;

interface StoredGlue extends Transpiled {
  readonly jco: string;
}

/** Stores glue by the component's digest. Glue of another jco version is ignored. */
class GlueStore {
  readonly #contents: ContentStore;

  constructor(contents: ContentStore) {
    this.#contents = contents;
  }

  async get(component: Digest, jco: Jco): Promise<Transpiled | undefined> {
    const digest = await this.#contents.labelled(SPACE, component);
    const bytes = digest === undefined ? undefined : await this.#contents.get(digest);
    if (bytes === undefined) return undefined;
    const stored: StoredGlue = JSON.parse(Buffer.from(bytes).toString());
    return stored.jco === jco.version ? stored : undefined;
  }

  async put(component: Digest, jco: Jco, transpiled: Transpiled): Promise<void> {
    const stored: StoredGlue = { ...transpiled, jco: jco.version };
    const digest = await this.#contents.put(Buffer.from(JSON.stringify(stored)));
    await this.#contents.label(SPACE, component, digest);
    await this.#removeUnused(component);
  }

  /** A label keeps its content from being collected, so labels of removed components are removed too. */
  async #removeUnused(but: Digest): Promise<void> {
    for (let after: string | undefined; ;) {
      const page = await this.#contents.labels(SPACE, PAGE, after);
      for (const component of page)
        if (component !== but && !(await this.#contents.has(component))) await this.#contents.label(SPACE, component, undefined);
      after = page.at(-1);
      if (page.length < PAGE) return;
    }
  }
}
