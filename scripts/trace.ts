// Prints the files and functions of `src` that one tool call executes in a server, in the order in which they are entered.
//
// The call runs twice after a warm-up. The first run is counted by V8's precise coverage, which knows every function but no order.
// In the second, a breakpoint in each of these functions notes the order and the depth of the call stack. Its condition does so and
// is false, since a pause for each would take 40 ms.
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import type { JsonObject } from "../src/core/contract/index.ts";
import { remoteServer, TestClient, toolText } from "../src/testing/index.ts";
import { Inspector, type Location, type ScriptCoverage } from "./inspector.ts";

const USAGE = `npm run trace -- MODULE TOOL [OPTION…]

Prints the source files and functions that one tools/call over HTTP executes, in order. The server stores its data in a temporary folder.

  --args JSON      the tool's arguments (default {})
  --before TOOL    a tool to call before each call, so that TOOL is possible again; may be repeated
  --modern         a request of revision 2026-07-28 instead of a session of 2025-11-25
  --listen         a second client of the same user subscribes to all, and the first notification it gets is part of the trace
  --functions      one line for each function, indented by the depth of the call stack
  --json           { files: [{ file, functions }], functions, loaded }

Examples:
  npm run trace -- examples/counter-disk add
  npm run trace -- examples/door close --before unlock --before open --listen`;

const root = resolve(import.meta.dirname, "..");

interface Executed {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  /** Of the call stack when it was entered. Undefined if only the counted call entered it. */
  depth: number | undefined;
}

interface TracedServer extends AsyncDisposable {
  readonly url: string;
  readonly inspector: Inspector;
}

const readyLine = z.object({ http: z.string() });

// Both clients are the same user by this key, so that they have the same actor.
const KEY = "troupe-trace-key";
const KEYS = { tracer: { sha256: createHash("sha256").update(KEY).digest("hex") } };

async function startServer(module: string, signedIn: boolean): Promise<TracedServer> {
  const data = mkdtempSync(join(tmpdir(), "troupe-trace-"));
  const args = ["serve", module, "--http", "127.0.0.1:0", "--data", join(data, "data"), "--json", "--log", "error"];
  if (signedIn) {
    writeFileSync(join(data, "keys.json"), JSON.stringify(KEYS), { mode: 0o600 });
    args.push("--api-keys", join(data, "keys.json"));
  }
  const child = spawn(process.execPath, ["--inspect=127.0.0.1:0", join(root, "bin/troupe.js"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGTERM");
      await new Promise((settle) => child.once("exit", settle));
    }
    rmSync(data, { recursive: true, force: true });
  };
  try {
    const [inspectorUrl, url] = await addresses(child);
    const inspector = await Inspector.connect(inspectorUrl);
    return {
      url,
      inspector,
      async [Symbol.asyncDispose]() {
        inspector[Symbol.dispose]();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The URLs of the inspector and of the MCP endpoint, once both are open. */
async function addresses({ stdout, stderr }: ChildProcess): Promise<readonly [string, string]> {
  if (stdout === null || stderr === null) throw new Error("The server's output is not readable.");
  const written: string[] = [];
  const inspector = Promise.withResolvers<string>();
  createInterface({ input: stderr })
    .on("line", (line) => {
      const found = /^Debugger listening on (ws:\S+)$/.exec(line)?.[1];
      if (found === undefined) written.push(line);
      else inspector.resolve(found);
    })
    .on("close", () => inspector.reject(new Error(`The server did not start:\n${written.join("\n")}`)));
  const lines = createInterface({ input: stdout });
  const [inspectorUrl, first] = await Promise.all([inspector.promise, lines[Symbol.asyncIterator]().next()]);
  if (first.done === true) throw new Error(`The server did not start:\n${written.join("\n")}`);
  return [inspectorUrl, readyLine.parse(JSON.parse(first.value)).http];
}

const sourceFile = (url: string): string | undefined => {
  if (!url.startsWith("file:")) return undefined;
  const file = relative(root, fileURLToPath(url));
  return file.startsWith("src/") ? file : undefined;
};

/** Finds lines and columns in a script's source. */
class Positions {
  readonly #starts: readonly number[];
  readonly #scriptId: string;

  constructor(scriptId: string, source: string) {
    this.#scriptId = scriptId;
    this.#starts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  }

  at(offset: number): Location {
    const after = this.#starts.findIndex((start) => start > offset);
    const lineNumber = (after === -1 ? this.#starts.length : after) - 1;
    return { scriptId: this.#scriptId, lineNumber, columnNumber: offset - (this.#starts[lineNumber] ?? 0) };
  }
}

const nameOf = (functionName: string, line: number): string => {
  if (functionName === "") return `(line ${line})`;
  return functionName.startsWith("<") ? "(fields)" : functionName;
};

const NOTE = `
  globalThis.traceEntries = [];
  globalThis.traceEntered = (index) => {
    if (traceEntries.some(([known]) => known === index)) return;
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = Infinity;
    traceEntries.push([index, new Error().stack.split("\\n").length]);
    Error.stackTraceLimit = stackTraceLimit;
  };`;
const entries = z.array(z.tuple([z.number(), z.number()]));

/** Makes each function that ran note when it is entered. Returns the functions, each noted by its index. */
async function noteEntries(inspector: Inspector, coverage: readonly ScriptCoverage[]): Promise<readonly Executed[]> {
  const executed: Executed[] = [];
  await inspector.evaluate(NOTE);
  for (const { scriptId, url, functions } of coverage) {
    const file = sourceFile(url);
    const ran = functions.filter(({ ranges: [whole] }) => whole !== undefined && whole.count > 0 && whole.startOffset > 0);
    if (file === undefined || ran.length === 0) continue;
    const positions = new Positions(scriptId, await inspector.source(scriptId));
    for (const { functionName, ranges } of ran) {
      const whole = ranges[0];
      if (whole === undefined) continue;
      const start = positions.at(whole.startOffset);
      const [first] = await inspector.possibleBreakpoints(start, positions.at(whole.endOffset));
      if (first !== undefined) await inspector.evaluateAt(first, `traceEntered(${executed.length})`);
      const line = start.lineNumber + 1;
      executed.push({ file, line, depth: undefined, name: nameOf(functionName, line) });
    }
  }
  return executed;
}

interface Options {
  readonly args: JsonObject;
  readonly before: readonly string[];
  readonly modern: boolean;
  readonly listen: boolean;
}

/** The functions in the order in which they are entered, and how many source files the server has loaded. */
async function traceCall(module: string, tool: string, options: Options): Promise<{ executed: readonly Executed[]; loaded: number }> {
  await using server = await startServer(module, options.listen);
  const { inspector } = server;
  const era = options.modern ? "modern" : "legacy";
  const endpoint = remoteServer(server.url, { headers: () => (options.listen ? { authorization: `Bearer ${KEY}` } : {}) });
  await using client = new TestClient(endpoint, { era, listen: false });
  await using listener = new TestClient(endpoint, { era });
  if (options.listen) {
    await listener.initialize();
    for (const { uri } of await listener.listResources()) await listener.subscribe(uri);
  }

  const prepare = async (): Promise<void> => {
    for (const before of options.before) await client.callTool(before);
  };
  const call = async (): Promise<void> => {
    listener.notifications.clear();
    const result = await client.callTool(tool, options.args);
    if (result.isError === true)
      throw new Error(`${tool} was refused: ${toolText(result)} If another tool makes it possible, name that one with --before.`);
    if (options.listen) await listener.notifications.first(() => true);
  };

  await inspector.run("Debugger.enable");
  await inspector.run("Profiler.enable");
  for (let round = 0; round < 3; round++) {
    await prepare();
    await call();
  }
  await prepare();
  await inspector.run("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await inspector.coverage();
  await call();
  const coverage = await inspector.coverage();
  await inspector.run("Profiler.stopPreciseCoverage");

  await prepare();
  const executed = await noteEntries(inspector, coverage);
  await call();
  const ordered = new Set<Executed>();
  for (const [index, depth] of entries.parse(await inspector.evaluate("traceEntries"))) {
    const one = executed[index];
    if (one === undefined) continue;
    one.depth = depth;
    ordered.add(one);
  }
  for (const one of executed) ordered.add(one);
  return { executed: [...ordered], loaded: new Set([...inspector.scripts.values()].map(sourceFile).filter(Boolean)).size };
}

/** By file, in the order in which the files are entered first. */
const byFile = (executed: readonly Executed[]): readonly { readonly file: string; readonly functions: readonly string[] }[] =>
  [...Map.groupBy(executed, ({ file }) => file)].map(([file, functions]) => ({
    file,
    functions: [...new Set(functions.map(({ name }) => name))],
  }));

function print(executed: readonly Executed[], functions: boolean): void {
  const least = Math.min(...executed.flatMap(({ depth }) => depth ?? []));
  if (functions)
    for (const { file, line, name, depth } of executed) console.log(`${" ".repeat((depth ?? least) - least)}${name}  ${file}:${line}`);
  else
    for (const [index, { file, functions: names }] of byFile(executed).entries())
      console.log(`${String(index + 1).padStart(3)}  ${file}\n       ${names.join(", ")}`);
}

const parsedArgs = z.record(z.string(), z.json());

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      args: { type: "string", default: "{}" },
      before: { type: "string", multiple: true, default: [] },
      modern: { type: "boolean", default: false },
      listen: { type: "boolean", default: false },
      functions: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [module, tool] = positionals;
  if (values.help) return console.log(USAGE);
  if (module === undefined || tool === undefined || positionals.length > 2) throw new Error(USAGE);
  const { before, modern, listen } = values;
  const { executed, loaded } = await traceCall(module, tool, { args: parsedArgs.parse(JSON.parse(values.args)), before, modern, listen });
  const files = byFile(executed);
  if (values.json) return console.log(JSON.stringify({ files, functions: executed.length, loaded }));
  print(executed, values.functions);
  console.log(`\n${files.length} files and ${executed.length} functions, of ${loaded} files that the server has loaded.`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
