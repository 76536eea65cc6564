/**
 * Searches for the requests that are the most expensive to serve for their size. Tries each shape of a hostile value (cost-shapes.ts) in each
 * place of a request, on each transport: as one message of the maximal length, as messages near the limits of values and members, and as
 * 100 KB in small messages.
 * Measures the processor time of the server process, and how long its event loop was blocked. A request beyond the target is measured three
 * times, and the lowest cost counts.
 *
 *   npm run bench:cost                 all requests; exits with 1 if one is beyond the target
 *   npm run bench:cost -- keys         requests whose names contain all of these words
 *
 * Target: 50 ms of processor time per 100 KB, and no event loop blocked for more than 100 ms. A request counts as at least 1 KiB, since the
 * rate limit bounds the number of small ones. The second limit applies to the processor time of one message, which bounds how long it
 * blocks; the measured delay also includes other work of the machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { HEADERS, MCP_PLACES, PACKET_PLACES, SHAPES } from "./cost-shapes.ts";
import { type CostWire, httpWire, lineWire, rawHttp, socketWire, theaterWire } from "./cost-wires.ts";

const root = join(import.meta.dirname, "..");
const MIB = 1_048_576;
const LEAST = 1_024;
/** Some requests get no answer; the server closes the connection. */
const UNANSWERED_MS = 2_000;
const SMALL = 4_096;
const TOTAL = 102_400;
const BYTES = { many: SMALL, "100 KB": TOTAL, "190 KB": 190_000, "900 KB": 900_000 };
const ATTEMPTS = 3;
const SIZES = ["many", "100 KB", "190 KB", "900 KB", "longest"] as const;

export interface Cost {
  readonly name: string;
  /** Processor time per 100 KB. */
  readonly cpuMs: number;
  /** Processor time of the most expensive message. It blocks no longer than that. */
  readonly messageMs: number;
  readonly delayMs: number;
}

/** Whether a cost is beyond the target. */
const isBeyond = ({ cpuMs, messageMs }: Cost): boolean => cpuMs > 50 || messageMs > 100;
const least = (one: Cost, other: Cost): Cost => (other.messageMs < one.messageMs ? other : one);

export interface SearchOptions {
  /** Selects requests by name. By default, all. */
  readonly wanted?: (name: string) => boolean;
  readonly onCost?: (cost: Cost) => void;
}

/** Serves the counter on each transport in a child process, and tries one request after the other. */
export async function searchCosts({ wanted = () => true, onCost = () => undefined }: SearchOptions = {}): Promise<readonly Cost[]> {
  await using server = await serve();
  const costs: Cost[] = [];

  const once = async (name: string, run: () => Promise<void>, bytes: number, messages: number): Promise<Cost> => {
    await server.used();
    await run();
    const { cpuMs, delayMs } = await server.used();
    return { name, cpuMs: (cpuMs * TOTAL) / Math.max(bytes, messages * LEAST), messageMs: cpuMs / messages, delayMs };
  };
  const measure = async (...request: Parameters<typeof once>): Promise<void> => {
    let cost = await once(...request);
    // Repeats expensive requests, since garbage collection after earlier requests is not their cost.
    for (let n = 1; n < ATTEMPTS && isBeyond(cost); n += 1) cost = least(cost, await once(...request));
    costs.push(cost);
    onCost(cost);
  };

  for (const [transport, places, open] of transports(server.ready)) {
    for (const [place, around] of Object.entries(places))
      for (const [shape, value] of Object.entries(SHAPES))
        for (const size of SIZES) {
          const name = `${transport}: ${shape} as ${place}, ${size}`;
          if (!wanted(name)) continue;
          // A new connection for each, since a server may close the connection of a refused request.
          const wire = await open();
          const send = (text: string): Promise<unknown> => Promise.race([wire.send(text), setTimeout(UNANSWERED_MS)]);
          // Warms up, since compilation is not part of the cost.
          for (let n = 0; n < 3; n += 1) await send(around(value(SMALL)));
          const text = around(value(size === "longest" ? wire.longest : BYTES[size]));
          const messages = size === "many" ? Math.ceil(TOTAL / text.length) : 1;
          const run = async (): Promise<void> => {
            for (let n = 0; n < messages; n += 1) await send(text);
          };
          await measure(name, run, text.length * messages, messages);
          wire.close();
        }
  }
  for (const [what, head] of Object.entries(HEADERS)) {
    const name = `http: ${what}, many`;
    const bytes = head.join().length;
    const messages = Math.ceil(TOTAL / bytes);
    const run = async (): Promise<void> => {
      for (let n = 0; n < messages; n += 1) await rawHttp(server.ready["http"] ?? "", head, "{}");
    };
    if (wanted(name)) await measure(name, run, bytes * messages, messages);
  }
  return costs;
}

type Open = () => CostWire | Promise<CostWire>;
type Places = typeof MCP_PLACES;

const ACCEPT = { accept: "application/json, text/event-stream" };
const THEATER_PLACES: Places = {
  data: (value) => `{"SendActorMessage":{"id":"00000000-0000-4000-8000-000000000001","data":${value}}}`,
  id: (value) => `{"GetActorState":{"id":${value}}}`,
  command: (value) => `{"Junk":${value}}`,
  nothing: (value) => value,
};

function transports(ready: Readonly<Record<string, string>>): readonly (readonly [name: string, places: Places, open: Open])[] {
  const { http = "", tcp = "", packets = "", packetsTcp = "", theaterTcp = "" } = ready;
  return [
    ["http", MCP_PLACES, () => httpWire(http, ACCEPT, 4 * MIB)],
    ["tcp", MCP_PLACES, () => lineWire(tcp)],
    ["packets over http", PACKET_PLACES, () => httpWire(packets, {}, MIB)],
    ["packets over tcp", PACKET_PLACES, () => lineWire(packetsTcp, MIB)],
    ["packets over a websocket", PACKET_PLACES, () => socketWire(packets.replace("http:", "ws:"), MIB)],
    ["theater", THEATER_PLACES, () => theaterWire(theaterTcp)],
  ];
}

interface CostServer extends AsyncDisposable {
  readonly ready: Readonly<Record<string, string>>;
  used(): Promise<{ readonly cpuMs: number; readonly delayMs: number }>;
}

async function serve(): Promise<CostServer> {
  const data = mkdtempSync(join(tmpdir(), "troupe-cost-"));
  const doors = ["--http", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--packets", "127.0.0.1:0", "--theater-tcp", "127.0.0.1:0"];
  const args = ["--conditions=troupe-source", "--import", join(import.meta.dirname, "cost-probe.ts"), join(root, "bin/troupe.js"), "serve"];
  const more = ["--no-auth", "--rate", "0", "--data", data, "--json", "--log", "error"];
  const child = spawn(process.execPath, [...args, "examples/counter", ...doors, ...more], {
    cwd: root,
    stdio: ["ignore", "pipe", "ignore", "ipc"],
  });
  const ready = await readyLine(child);
  return {
    ready,
    used: () =>
      new Promise((done) => {
        child.once("message", (used: { readonly cpuMs: number; readonly delayMs: number }) => done(used));
        child.send("used");
      }),
    async [Symbol.asyncDispose]() {
      const ended = new Promise((done) => void child.once("exit", done));
      child.kill("SIGKILL");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function readyLine({ stdout }: ChildProcess): Promise<Readonly<Record<string, string>>> {
  if (stdout === null) throw new Error("the server has no output");
  for await (const line of createInterface({ input: stdout })) {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : [])));
  }
  throw new Error("the server ended before it was ready");
}

if (import.meta.main) {
  const words = process.argv.slice(2);
  const costs = await searchCosts({ wanted: (name) => words.every((word) => name.includes(word)) });
  const worst = (by: (cost: Cost) => number): readonly Cost[] => costs.toSorted((one, other) => by(other) - by(one)).slice(0, 25);
  const line = ({ name, cpuMs, messageMs, delayMs }: Cost): string =>
    `${cpuMs.toFixed(1).padStart(8)} ${messageMs.toFixed(1).padStart(10)} ${delayMs.toFixed(0).padStart(8)}  ${name}`;
  console.log("ms/100 KB ms/message    delay  request\n");
  for (const by of [(cost: Cost) => cost.cpuMs, (cost: Cost) => cost.messageMs]) console.log(`${worst(by).map(line).join("\n")}\n`);
  const beyond = costs.filter(isBeyond);
  console.log(`${costs.length} requests tried, ${beyond.length} beyond 50 ms/100 KB or 100 ms a message.`);
  process.exitCode = beyond.length > 0 ? 1 : 0;
}
