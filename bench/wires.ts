// README: a tools/call over TCP and stdio, one after the other and pipelined, beside the same over our own HTTP.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { root, serve } from "./child.ts";
import { legacyCall, openSession, portOf } from "./http-call.ts";
import { fire, median, rate } from "./load.ts";

const BURST_MS = 1_000;
const ROUNDS = 7;
const WINDOW = 64;

interface Wire {
  readonly from: Readable;
  readonly to: Writable;
}

const line = (message: object): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
const call = (id: number): string => line({ id, method: "tools/call", params: { name: "add", arguments: {} } });

/** Until one whole line has come. */
const answered = ({ from }: Wire): Promise<void> =>
  new Promise((resolve) => {
    const hear = (chunk: Buffer): void => {
      if (!chunk.includes("\n")) return;
      from.off("data", hear);
      resolve();
    };
    from.on("data", hear);
  });

const initialize = async (wire: Wire): Promise<void> => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
  wire.to.write(line({ id: 0, method: "initialize", params }));
  await answered(wire);
  wire.to.write(line({ method: "notifications/initialized" }));
};

/** Calls a second: `windows` of `size` calls are under way on each wire; a window is sent again when all of it was answered. */
const burst = async (wires: readonly Wire[], size: number, windows: number): Promise<number> => {
  let calls = 0;
  const window = (first: number): Buffer => Buffer.from(Array.from({ length: size }, (_, n) => call(first + n + 1)).join(""));
  const texts = Array.from({ length: windows }, (_, w) => window(w * size));
  const started = performance.now();
  const until = started + BURST_MS;
  const one = ({ from, to }: Wire): Promise<void> =>
    new Promise((resolve, reject) => {
      let open = 0;
      let left = size;
      let turn = 0;
      const send = (): void => {
        to.write(texts[turn] ?? "");
        turn = (turn + 1) % windows;
        open += 1;
      };
      const hear = (chunk: Buffer): void => {
        if (chunk.includes('"error"') || chunk.includes('"isError":true')) reject(new Error(chunk.toString()));
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
          calls += 1;
          left -= 1;
          if (left > 0) continue;
          left = size;
          open -= 1;
          if (performance.now() < until) send();
        }
        if (open > 0) return;
        from.off("data", hear);
        resolve();
      };
      from.on("data", hear);
      for (let w = 0; w < windows; w += 1) send();
    });
  await Promise.all(wires.map(one));
  return calls / ((performance.now() - started) / 1_000);
};

const overTcp = async (port: number, count: number): Promise<readonly Wire[]> => {
  const wires = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Wire>((resolve, reject) => {
          const socket = connect(port, "127.0.0.1", () => resolve({ from: socket, to: socket }));
          socket.setNoDelay(true);
          socket.once("error", reject);
        }),
    ),
  );
  await Promise.all(wires.map(initialize));
  return wires;
};

export const run = async (): Promise<void> => {
  const data = mkdtempSync(join(tmpdir(), "bench-"));
  const server = await serve("examples/counter", join(data, "served"), "--tcp", "127.0.0.1:0");
  const piped = spawn(
    process.execPath,
    [
      "--conditions=troupe-source",
      "bin/troupe.js",
      "serve",
      "examples/counter",
      "--stdio",
      "--log",
      "error",
      "--rate",
      "1000000",
      "--data",
      join(data, "piped"),
    ],
    { cwd: root, stdio: ["pipe", "pipe", "inherit"] },
  );
  try {
    const port = portOf(server.ready["http"]);
    const shot = legacyCall(port, await openSession(port), "add");
    const tcp = Number(/:(\d+)$/.exec(String(server.ready["tcp"]))?.[1]);
    const [many, few] = [await overTcp(tcp, 32), await overTcp(tcp, 4)];
    const stdio: readonly Wire[] = [{ from: piped.stdout, to: piped.stdin }];
    for (const wire of stdio) await initialize(wire);
    const contestants: Readonly<Record<string, () => Promise<number>>> = {
      "HTTP, 32 connections": async () => rate(await fire(shot, 32, BURST_MS)),
      "TCP, 32 connections, one call after the other": () => burst(many, 1, 1),
      "TCP, 4 connections, pipelined": () => burst(few, WINDOW, 2),
      "stdio, pipelined": () => burst(stdio, WINDOW, 2),
    };
    const rates: Record<string, number[]> = {};
    for (let round = 0; round <= ROUNDS; round += 1)
      for (const [name, contest] of Object.entries(contestants)) {
        const value = await contest();
        if (round > 0) (rates[name] ??= []).push(value);
      }
    const http = rates["HTTP, 32 connections"] ?? [];
    for (const [name, values] of Object.entries(rates)) {
      const ratio = median(values.map((value, round) => value / (http[round] ?? Number.NaN)));
      console.log(`${name.padEnd(46)} ${median(values).toFixed(0).padStart(8)}/s  ${ratio.toFixed(2).padStart(6)} of HTTP`);
    }
    for (const { to } of [...many, ...few]) to.destroy();
  } finally {
    piped.kill("SIGTERM");
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  }
};
