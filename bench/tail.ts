// How long the slowest of a hundred calls waits at half of what the server can do, beside the bare echo at the same rate.
// Open loop: a call's time counts from when it was to be sent, so a server that stands still is not asked less.
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Same } from "./answers.ts";
import type { Asked } from "./asked.ts";
import { keptOffMsOf, serve, Servers, start } from "./child.ts";
import { temporaryFolder } from "./leftovers.ts";
import { burstsOf, fire, rate, Responses, type Shot, warmUp } from "./load.ts";
import { ADD, counted, countedModern, legacy, modern, openSession, portOf } from "./mcp.ts";
import { loadOnItsCore, SERVER_CORE } from "./pin.ts";
import { median, quantile } from "./statistics.ts";
import { note, print } from "./table.ts";
import { isTimeLeft } from "./time-left.ts";

const CONNECTIONS = 32;
const ROUNDS = 5;
const CALL = "tools/call";

/** A connection on which one call after the other is made. */
class Caller {
  readonly #socket: Socket;
  readonly #request: string;
  readonly #opened: Promise<void>;
  /** When the call that is under way was to be sent. */
  #due = 0;

  /** `answered`: with the milliseconds since the call was to be sent. */
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

/** A round of the event loop that takes longer is no work of the load: it was collecting, or the system had other plans. */
const STILL_MS = 1;

interface Paced {
  /** Of each call, milliseconds since it was to be sent. */
  readonly took: readonly number[];
  /** The part of the time in which the load itself stood still, from 0 to 1. */
  readonly still: number;
  /** The part of it in which the server had no core. */
  readonly keptOff: number;
}

/** Calls that are sent at that rate, however long they take. */
const paced = async (shot: Shot, perSecond: number, forMs: number): Promise<Paced> => {
  const calls = Math.floor((perSecond * forMs) / 1_000);
  const keptOffBefore = keptOffMsOf(shot.pid);
  const took: number[] = [];
  let stillMs = 0;
  const late: number[] = [];
  const over = Promise.withResolvers<void>();
  // Nobody may wait for it yet.
  over.promise.catch(() => undefined);
  const callers: Caller[] = [];
  const idle: Caller[] = [];
  while (callers.length < CONNECTIONS) {
    const answered = (ms: number): void => {
      took.push(ms);
      const due = late.shift();
      if (due === undefined) idle.push(caller);
      else caller.call(due);
      if (took.length === calls) over.resolve();
    };
    const caller = new Caller(shot, callers.length, answered, over.reject);
    callers.push(caller);
    idle.push(caller);
  }
  let asking = true;
  try {
    await Promise.race([Promise.all(callers.map(({ opened }) => opened)), over.promise]);
    const started = performance.now();
    let asked = 0;
    let last = started;
    // No timer is that exact; the load has its core to itself.
    const look = (): void => {
      const now = performance.now();
      if (now - last > STILL_MS) stillMs += now - last;
      last = now;
      for (; asked < calls; asked += 1) {
        const due = started + (asked * 1_000) / perSecond;
        if (due > now) break;
        const caller = idle.pop();
        if (caller === undefined) late.push(due);
        else caller.call(due);
      }
      if (asking && asked < calls) setImmediate(look);
    };
    look();
    await over.promise;
  } finally {
    asking = false;
    for (const caller of callers) caller.end();
  }
  const flaw = shot.answers.flaw();
  if (flaw !== undefined) throw new Error(`Bad answers: ${flaw}.`);
  return { took, still: stillMs / forMs, keptOff: (keptOffMsOf(shot.pid) - keptOffBefore) / forMs };
};

const p99 = ({ took }: Paced): number => quantile(took, 0.99);

/** Beyond it the slowest of a hundred calls is the load's, or the system's. */
const MOST_STILL = 0.01;

const percent = (part: number): string => `${(part * 100).toFixed(1)} %`;

export const run = async (asked: Asked): Promise<void> => {
  using data = temporaryFolder();
  using _load = loadOnItsCore();
  await using servers = new Servers();
  const { warm } = burstsOf(asked);
  const [burstMs, peakRounds] = asked.quick ? [250, 2] : [1_500, 3];
  const echo = await servers.add(start(["bench/echo.ts"], { core: SERVER_CORE }));
  const memory = await servers.add(serve("examples/counter", join(data.path, "memory")));
  const stateless = await servers.add(serve("examples/counter", join(data.path, "modern")));
  const disk = await servers.add(serve("examples/counter-disk", join(data.path, "disk")));
  const bare = legacy(echo, [{}], new Same({ content: [{ type: "text", text: "1" }] }), CALL, ADD);
  const shots = {
    "memory, in a session": legacy(memory, [await openSession(portOf(memory))], counted(), CALL, ADD),
    "memory, 2026-07-28": modern(stateless, countedModern(), CALL, ADD),
    "on disk, one actor for all": legacy(disk, [await openSession(portOf(disk))], counted(), CALL, ADD),
  };
  await warmUp(() => fire(bare, CONNECTIONS, burstMs), warm);
  for (const [name, shot] of Object.entries(shots)) {
    await warmUp(() => fire(shot, CONNECTIONS, burstMs), warm);
    const peaks: number[] = [];
    while (peaks.length < peakRounds) peaks.push(rate(await fire(shot, CONNECTIONS, burstMs)));
    const half = median(peaks) / 2;
    const [ours, theirs]: [Paced[], Paced[]] = [[], []];
    while (ours.length < ROUNDS && (ours.length < 3 || isTimeLeft())) {
      theirs.push(await paced(bare, half, burstMs));
      ours.push(await paced(shot, half, burstMs));
    }
    const [oursMs, theirsMs] = [ours.map(p99), theirs.map(p99)];
    const what = `tools/call at half of peak: ${name}`;
    const target = name.startsWith("memory") ? 2 : undefined;
    // A bad moment of the machine in the echo's turn would flatter ours: its best round is what all of ours are held against.
    const best = Math.min(...theirsMs);
    print({ what: `${what}, p99 of the echo's best`, measured: oursMs.map((ms) => ms / best), unit: "×", best: true, target });
    print({ what: `${what}, p99`, measured: oursMs, unit: "ms" });
    print({ what: `${what}, the echo's p99 then`, measured: theirsMs, unit: "ms" });
    print({ what: `${what}, calls asked for`, measured: [half], unit: "/s" });
    const still = median([...ours, ...theirs].map((one) => one.still));
    if (still > MOST_STILL) note(`${name}: the load itself stood still for ${percent(still)} of the time: its own tail is in these.`);
    const off = median(ours.map(({ keptOff }) => keptOff));
    const echoOff = median(theirs.map(({ keptOff }) => keptOff));
    if (off > MOST_STILL || echoOff > MOST_STILL)
      note(
        `${name}: the server had no core for ${percent(off)} of the time, the echo for ${percent(echoOff)}: the system's tail is in these.`,
      );
  }
};
