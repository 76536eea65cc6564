// The 99th percentile of call latency at half of the peak rate, compared with a bare echo at the same rate.
// Open loop: latency counts from the scheduled time of a call, so a stalled server does not get fewer calls.
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Same } from "./answers.ts";
import type { BenchOptions } from "./options.ts";
import { runQueueMsOf, serve, Servers, start } from "./server-process.ts";
import { temporaryFolder } from "./cleanup.ts";
import { burstsOf, fire, rate, Responses, type Shot, warmUp } from "./load.ts";
import { ADD, counterReplies, modernCounterReplies, legacy, modern, openSession, portOf } from "./mcp-requests.ts";
import { pinLoad, SERVER_CORE } from "./cpu-pinning.ts";
import { median, quantile } from "./statistics.ts";
import { note, print } from "./table.ts";
import { isTimeLeft } from "./time-left.ts";

const CONNECTIONS = 32;
const ROUNDS = 5;
const CALL = "tools/call";

/** A connection with one call in flight at a time. */
class Caller {
  readonly #socket: Socket;
  readonly #request: string;
  readonly #opened: Promise<void>;
  /** The scheduled time of the call in flight. */
  #due = 0;

  /** Calls `answered` with the milliseconds since the scheduled time of a call. */
  constructor({ port, text, answers }: Shot, n: number, answered: (ms: number) => void, failed: (error: Error) => void) {
    const responses = new Responses();
    this.#request = text(n);
    this.#socket = connect(port, "127.0.0.1").setNoDelay(true).setEncoding("latin1");
    this.#opened = new Promise((resolve) => this.#socket.once("connect", resolve));
    this.#socket.on("error", failed);
    this.#socket.on("close", () => failed(new Error("Bad answer: the server closed the connection.")));
    this.#socket.on("data", (chunk: string) => {
      const body = responses.add(chunk);
      if (body === undefined) return;
      if (answers.good(body, n)) answered(performance.now() - this.#due);
      else failed(new Error(`Bad answer: ${body.slice(0, 1_000)}`));
    });
  }

  get opened(): Promise<void> {
    return this.#opened;
  }

  call(due: number): void {
    this.#due = due;
    this.#socket.write(this.#request);
  }

  end(): void {
    this.#socket.removeAllListeners("close").destroy();
  }
}

/** A longer iteration of the event loop is a stall of the load: garbage collection, or the scheduler. */
const STALL_MS = 1;

interface PacedResult {
  /** The latency of each call in milliseconds, from its scheduled time. */
  readonly latencies: readonly number[];
  /** The part of the time in which the load was stalled, from 0 to 1. */
  readonly stalled: number;
  /** The part of the time in which the server waited for a core. */
  readonly waitedForCore: number;
}

/** Makes calls at a fixed rate, independent of their latency. */
const paced = async (shot: Shot, perSecond: number, forMs: number): Promise<PacedResult> => {
  const calls = Math.floor((perSecond * forMs) / 1_000);
  const waitedBefore = runQueueMsOf(shot.pid);
  const latencies: number[] = [];
  let stalledMs = 0;
  const overdue: number[] = [];
  const over = Promise.withResolvers<void>();
  // It may reject before it is awaited.
  over.promise.catch(() => undefined);
  const callers: Caller[] = [];
  const idle: Caller[] = [];
  while (callers.length < CONNECTIONS) {
    const answered = (ms: number): void => {
      latencies.push(ms);
      const due = overdue.shift();
      if (due === undefined) idle.push(caller);
      else caller.call(due);
      if (latencies.length === calls) over.resolve();
    };
    const caller = new Caller(shot, callers.length, answered, over.reject);
    callers.push(caller);
    idle.push(caller);
  }
  let sending = true;
  try {
    await Promise.race([Promise.all(callers.map(({ opened }) => opened)), over.promise]);
    const started = performance.now();
    let sent = 0;
    let last = started;
    // Polls, since timers are not exact enough. The load has a core of its own.
    const sendDue = (): void => {
      const now = performance.now();
      if (now - last > STALL_MS) stalledMs += now - last;
      last = now;
      for (; sent < calls; sent += 1) {
        const due = started + (sent * 1_000) / perSecond;
        if (due > now) break;
        const caller = idle.pop();
        if (caller === undefined) overdue.push(due);
        else caller.call(due);
      }
      if (sending && sent < calls) setImmediate(sendDue);
    };
    sendDue();
    await over.promise;
  } finally {
    sending = false;
    for (const caller of callers) caller.end();
  }
  const flaw = shot.answers.flaw();
  if (flaw !== undefined) throw new Error(`Bad answers: ${flaw}.`);
  return { latencies, stalled: stalledMs / forMs, waitedForCore: (runQueueMsOf(shot.pid) - waitedBefore) / forMs };
};

const p99 = ({ latencies }: PacedResult): number => quantile(latencies, 0.99);

/** If the load is stalled for longer, the measured tail is that of the load or the system. */
const MAX_STALLED = 0.01;

const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;

export const run = async (options: BenchOptions): Promise<void> => {
  using data = temporaryFolder();
  using _load = pinLoad();
  await using servers = new Servers();
  const { warm } = burstsOf(options);
  const [burstMs, peakRounds] = options.quick ? [250, 2] : [1_500, 3];
  const echo = await servers.add(start(["bench/echo.ts"], { core: SERVER_CORE }));
  const memory = await servers.add(serve("examples/counter", join(data.path, "memory")));
  const stateless = await servers.add(serve("examples/counter", join(data.path, "modern")));
  const disk = await servers.add(serve("examples/counter-disk", join(data.path, "disk")));
  const bare = legacy(echo, [{}], new Same({ content: [{ type: "text", text: "1" }] }), CALL, ADD);
  const shots = {
    "memory, in a session": legacy(memory, [await openSession(portOf(memory))], counterReplies(), CALL, ADD),
    "memory, 2026-07-28": modern(stateless, modernCounterReplies(), CALL, ADD),
    "on disk, one actor for all": legacy(disk, [await openSession(portOf(disk))], counterReplies(), CALL, ADD),
  };
  await warmUp(() => fire(bare, CONNECTIONS, burstMs), warm);
  for (const [name, shot] of Object.entries(shots)) {
    await warmUp(() => fire(shot, CONNECTIONS, burstMs), warm);
    const peaks: number[] = [];
    while (peaks.length < peakRounds) peaks.push(rate(await fire(shot, CONNECTIONS, burstMs)));
    const half = median(peaks) / 2;
    const [ours, theirs]: [PacedResult[], PacedResult[]] = [[], []];
    while (ours.length < ROUNDS && (ours.length < 3 || isTimeLeft())) {
      theirs.push(await paced(bare, half, burstMs));
      ours.push(await paced(shot, half, burstMs));
    }
    const [oursMs, theirsMs] = [ours.map(p99), theirs.map(p99)];
    const what = `tools/call at half of peak: ${name}`;
    const target = name.startsWith("memory") ? 2 : undefined;
    // Compares with the best round of the echo, since a stall of the machine during the echo would flatter ours.
    const best = Math.min(...theirsMs);
    print({ what: `${what}, p99 of the echo's best`, measured: oursMs.map((ms) => ms / best), unit: "×", best: true, target });
    print({ what: `${what}, p99`, measured: oursMs, unit: "ms" });
    print({ what: `${what}, the echo's p99 then`, measured: theirsMs, unit: "ms" });
    print({ what: `${what}, calls asked for`, measured: [half], unit: "/s" });
    const stalled = median([...ours, ...theirs].map((result) => result.stalled));
    if (stalled > MAX_STALLED)
      note(`${name}: the load was stalled for ${percent(stalled)} of the time, so the figures include its own tail.`);
    const waited = median(ours.map(({ waitedForCore }) => waitedForCore));
    const echoWaited = median(theirs.map(({ waitedForCore }) => waitedForCore));
    if (waited > MAX_STALLED || echoWaited > MAX_STALLED)
      note(
        `${name}: the server waited for a core for ${percent(waited)} of the time, the echo for ${percent(echoWaited)}, so the figures include the system's tail.`,
      );
  }
};
