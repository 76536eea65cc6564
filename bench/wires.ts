// A tools/call over TCP and stdio, sequential and pipelined, compared with our own HTTP, a program that echoes lines, and a bare
// node:http echo.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type Answers, Same } from "./answers.ts";
import type { BenchOptions } from "./options.ts";
import { piped, SERVE, serve, Servers, start, type Started } from "./server-process.ts";
import { ONE } from "./echo-answer.ts";
import { temporaryFolder } from "./cleanup.ts";
import { alternate, burstsOf, type Contest, fire, printRates, printTimes, type Volley } from "./load.ts";
import { ADD, counterReplies, INITIALIZE, INITIALIZED, legacy, openSession, portOf } from "./mcp-requests.ts";
import { pinLoad, SERVER_CORE } from "./cpu-pinning.ts";

const WINDOW = 64;

interface Wire {
  readonly from: Readable;
  readonly to: Writable;
}

const line = (message: object): string => `${JSON.stringify(message)}\n`;
const call = (id: number): string => line({ jsonrpc: "2.0", id, method: "tools/call", params: ADD });

const wireOf = ({ stdin, stdout }: ChildProcess): Wire => {
  if (stdin === null || stdout === null) throw new Error("It has no pipes.");
  return { from: stdout.setEncoding("latin1"), to: stdin };
};

const initialize = async ({ from, to }: Wire): Promise<void> => {
  to.write(line(INITIALIZE));
  let text = "";
  while (!text.endsWith("\n")) text += String((await once(from, "data"))[0]);
  to.write(line(INITIALIZED));
};

interface Windows {
  readonly wires: readonly Wire[];
  /** Calls in a window. A window is sent again when all of it is answered. */
  readonly size: number;
  /** Windows in flight on each wire. */
  readonly windows: number;
  readonly answers: Answers;
  readonly burstMs: number;
}

const burst = async ({ wires, size, windows, answers, burstMs }: Windows): Promise<Volley> => {
  let requests = 0;
  const texts = Array.from({ length: windows }, (_, w) => Array.from({ length: size }, (_id, n) => call(w * size + n + 1)).join(""));
  const started = performance.now();
  const until = started + burstMs;
  const one = ({ from, to }: Wire): Promise<void> =>
    new Promise((resolve, reject) => {
      let open = 0;
      let left = size;
      let turn = 0;
      let rest = "";
      const send = (): void => {
        to.write(texts[turn] ?? "");
        turn = (turn + 1) % windows;
        open += 1;
      };
      /** Answers arrive in the order of the calls. */
      let next = 0;
      const onData = (chunk: string): void => {
        const text = rest === "" ? chunk : rest + chunk;
        let at = 0;
        for (let end = text.indexOf("\n"); end >= 0; at = end + 1, end = text.indexOf("\n", at)) {
          const id = next + 1;
          next = id % (windows * size);
          if (!answers.good(text.slice(at, end), id)) {
            from.off("data", onData);
            reject(new Error(`Bad answer to ${id}: ${text.slice(at, end)}`));
            return;
          }
          requests += 1;
          left -= 1;
          if (left > 0) continue;
          left = size;
          open -= 1;
          if (performance.now() < until) send();
        }
        rest = text.slice(at);
        if (open > 0) return;
        from.off("data", onData);
        resolve();
      };
      from.on("data", onData);
      for (let w = 0; w < windows; w += 1) send();
    });
  await Promise.all(wires.map(one));
  return { requests, seconds: (performance.now() - started) / 1_000 };
};

const overTcp = (port: number, count: number): Promise<readonly Wire[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, "127.0.0.1").setNoDelay(true).setEncoding("latin1");
      await once(socket, "connect");
      return { from: socket, to: socket };
    }),
  );

const tcpPortOf = ({ ready: { tcp } }: Started): number => Number(/:(\d+)$/.exec(String(tcp))?.[1]);

const MANY = 32;
const FEW = 4;
const OUR_HTTP = "HTTP, 32 connections";
const HTTP_ECHO = "a bare node:http echo, 32 connections";
// The limit of our HTTP relative to the bare echo at the time when the limits of the wires were set.
const HTTP_LIMIT = 0.9;
const FEW_PIPELINED = "TCP, 4 connections, pipelined";
const FLOOR = "our turn with its lines read by hand, 4 connections, pipelined";
// After each change the server must check whether the lists of a session have changed.
const VARYING = "TCP, 4 connections, pipelined, of nine kinds whose tools may vary";

export const run = async (options: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  using _load = pinLoad();
  const bursts = burstsOf(options);
  const { burstMs } = bursts;
  await using servers = new Servers();
  // Each of ours runs in a process without other sessions, since sessions are notified of each other's calls.
  const serveCounter = (name: string, ...more: readonly string[]): Promise<Started> =>
    servers.add(serve("examples/counter", join(data.path, name), ...more));
  const http = await serveCounter("http");
  const many = await serveCounter("many", "--tcp", "127.0.0.1:0");
  const few = await serveCounter("few", "--tcp", "127.0.0.1:0");
  const varying = await servers.add(serve("bench/kinds/varying.ts", join(data.path, "varying"), "--tcp", "127.0.0.1:0"));
  const echo = await servers.add(start(["bench/line-echo.ts"], { core: SERVER_CORE }));
  const floor = await servers.add(start(["bench/line-floor.ts"], { core: SERVER_CORE }));
  const httpEcho = await servers.add(start(["bench/echo.ts"], { core: SERVER_CORE }));
  const ours = piped(["bin/troupe.js", "serve", "examples/counter", "--stdio", "--json", "--data", join(data.path, "piped"), ...SERVE]);
  const bare = piped(["bench/line-echo.ts", "--stdio"]);
  const wires = {
    many: await overTcp(tcpPortOf(many), MANY),
    few: await overTcp(tcpPortOf(few), FEW),
    varying: await overTcp(tcpPortOf(varying), FEW),
    stdio: [wireOf(ours)],
    bareMany: await overTcp(portOf(echo), MANY),
    bareFew: await overTcp(portOf(echo), FEW),
    floor: await overTcp(portOf(floor), FEW),
    bareStdio: [wireOf(bare)],
  };
  try {
    await Promise.all([...wires.many, ...wires.few, ...wires.varying, ...wires.floor, ...wires.stdio].map(initialize));
    const shot = legacy(http, [await openSession(portOf(http))], counterReplies(), "tools/call", ADD);
    const echoed = legacy(httpEcho, [{}], new Same(ONE), "tools/call", ADD);
    const contest = (child: ChildProcess, windows: Omit<Windows, "burstMs">): Contest => ({
      ...windows,
      pid: child.pid,
      burst: () => burst({ ...windows, burstMs }),
    });
    const same = new Same({ content: [{ type: "text", text: "1" }] });
    const single = { size: 1, windows: 1 };
    const pipelined = { size: WINDOW, windows: 2 };
    const outcomes = await alternate(
      {
        [OUR_HTTP]: { ...shot, burst: () => fire(shot, MANY, burstMs) },
        [HTTP_ECHO]: { ...echoed, burst: () => fire(echoed, MANY, burstMs) },
        "TCP, 32 connections, one by one": contest(many.child, { wires: wires.many, ...single, answers: counterReplies() }),
        [FEW_PIPELINED]: contest(few.child, { wires: wires.few, ...pipelined, answers: counterReplies() }),
        [VARYING]: contest(varying.child, { wires: wires.varying, ...pipelined, answers: counterReplies() }),
        "stdio, pipelined": contest(ours, { wires: wires.stdio, ...pipelined, answers: counterReplies() }),
        "a bare echo of lines, 32 connections, one by one": contest(echo.child, { wires: wires.bareMany, ...single, answers: same }),
        "a bare echo of lines, 4 connections, pipelined": contest(echo.child, { wires: wires.bareFew, ...pipelined, answers: same }),
        [FLOOR]: contest(floor.child, { wires: wires.floor, ...pipelined, answers: counterReplies() }),
        "a bare echo of lines, stdio, pipelined": contest(bare, { wires: wires.bareStdio, ...pipelined, answers: same }),
      },
      bursts,
    );
    printRates("tools/call", outcomes);
    const compare = (name: string, least: number, lines: string, floorOf = `a bare echo of lines, ${lines}`): void => {
      const bareEcho = outcomes[`a bare echo of lines, ${lines}`];
      const itsFloor = outcomes[floorOf];
      printTimes(`tools/call: ${name}, of our HTTP`, outcomes[name], outcomes[OUR_HTTP], least, itsFloor);
      printTimes(`tools/call: ${name}, of a bare node:http echo`, outcomes[name], outcomes[HTTP_ECHO], least * HTTP_LIMIT, itsFloor);
      printTimes(`tools/call: ${name}, of the bare echo of lines`, outcomes[name], bareEcho);
    };
    compare("TCP, 32 connections, one by one", 2, "32 connections, one by one");
    compare(FEW_PIPELINED, 7, "4 connections, pipelined", FLOOR);
    compare("stdio, pipelined", 5, "stdio, pipelined");
    printTimes(`tools/call: ${VARYING}, of one whose tools never do`, outcomes[VARYING], outcomes[FEW_PIPELINED]);
  } finally {
    for (const { to } of Object.values(wires).flat()) to.destroy();
    for (const child of [ours, bare]) child.kill("SIGTERM");
  }
};
