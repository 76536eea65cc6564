import { connect, type Socket } from "node:net";
import type { Answers } from "./answers.ts";
import type { BenchOptions } from "./options.ts";
import { cpuUsOf } from "./server-process.ts";
import { agree, times } from "./statistics.ts";
import { note, print } from "./table.ts";

export { median } from "./statistics.ts";

/** An HTTP request that is sent repeatedly. */
export interface Shot {
  readonly port: number;
  /** The request of a connection. The connection's number is its id, since a session must not have two requests in flight with the same id. */
  readonly text: (connection: number) => string;
  readonly answers: Answers;
  /** The server's process, whose processor time is measured. */
  readonly pid?: number | undefined;
}

export interface Volley {
  readonly requests: number;
  readonly seconds: number;
}

export const post = (port: number, path: string, body: string, headers: Readonly<Record<string, string>> = {}): string =>
  [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join("\r\n");

const HEADER_END = "\r\n\r\n";
const LAST_CHUNK = "\r\n0\r\n\r\n";

/** Parses the responses of a connection, with a Content-Length or chunked. */
export class Responses {
  #text = "";
  #head = "";
  #length: number | undefined;

  /** Returns the body when the response is complete, otherwise undefined. */
  add(chunk: string): string | undefined {
    this.#text = this.#text === "" ? chunk : this.#text + chunk;
    // Most heads equal the previous one, and comparing is faster than parsing.
    if (this.#head === "" || !this.#text.startsWith(this.#head)) {
      const end = this.#text.indexOf(HEADER_END);
      if (end < 0) return undefined;
      this.#head = this.#text.slice(0, end + HEADER_END.length);
      const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1];
      this.#length = length === undefined ? undefined : Number(length);
    }
    const from = this.#head.length;
    if (this.#length === undefined ? !this.#text.endsWith(LAST_CHUNK) : this.#text.length < from + this.#length) return undefined;
    const body = this.#text.slice(from);
    this.#text = "";
    return this.#length === undefined ? unchunked(body) : body;
  }
}

const unchunked = (body: string): string => {
  let text = "";
  for (let at = 0; at < body.length;) {
    const end = body.indexOf("\r\n", at);
    const size = Number.parseInt(body.slice(at, end), 16);
    text += body.slice(end + 2, end + 2 + size);
    at = end + size + 4;
  }
  return text;
};

/** Closed loop: one request in flight on each keep-alive connection. Rejects at a wrong answer. */
export const fire = async ({ port, text, answers }: Shot, connections: number, forMs: number): Promise<Volley> => {
  let requests = 0;
  const started = performance.now();
  const until = started + forMs;
  const one = (connection: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const request = text(connection);
      const socket: Socket = connect(port, "127.0.0.1").setNoDelay(true).setEncoding("latin1");
      const responses = new Responses();
      const fail = (why: string): void => {
        socket.destroy();
        reject(new Error(`Bad answer: ${why.slice(0, 1_000)}`));
      };
      socket.on("connect", () => socket.write(request));
      socket.on("error", reject);
      socket.on("data", (chunk: string) => {
        const body = responses.add(chunk);
        if (body === undefined) return;
        requests += 1;
        if (!answers.good(body, connection)) fail(body);
        else if (performance.now() < until) socket.write(request);
        else {
          resolve();
          socket.destroy();
        }
      });
      socket.on("close", () => fail("the server closed the connection"));
    });
  await Promise.all(Array.from({ length: connections }, (_, connection) => one(connection)));
  return { requests, seconds: (performance.now() - started) / 1000 };
};

/** Requests per second. */
export const rate = (volley: Volley): number => volley.requests / volley.seconds;

/** Runs `count` callers, each with one call in flight. Returns calls per second. */
export const callers = async (count: number, forMs: number, call: (caller: number) => Promise<unknown>): Promise<number> => {
  const started = performance.now();
  const until = started + forMs;
  let calls = 0;
  await Promise.all(
    Array.from({ length: count }, async (_, caller) => {
      while (performance.now() < until) {
        await call(caller);
        calls += 1;
      }
    }),
  );
  // The last calls end after the time limit.
  return (calls * 1_000) / (performance.now() - started);
};

/** Figures of one contestant by round. */
export interface Outcome {
  /** Requests per second. */
  readonly rates: readonly number[];
  /** Processor time of the server for each request. Undefined if the system does not report it. */
  readonly cpuUs: number | undefined;
}

/** A contestant. */
export interface Contest {
  readonly burst: () => Promise<Volley>;
  readonly answers?: Answers;
  readonly pid?: number | undefined;
}

export interface Bursts {
  readonly rounds: number;
  readonly burstMs: number;
  /** The warm-up of each contestant: at least so many requests, so long, and until two bursts agree, but at most `mostMs`. */
  readonly warm: { readonly requests: number; readonly ms: number; readonly mostMs: number };
}

export const burstsOf = ({ quick }: BenchOptions): Bursts =>
  quick
    ? { rounds: 3, burstMs: 200, warm: { requests: 5_000, ms: 0, mostMs: 3_000 } }
    : { rounds: 7, burstMs: 1_000, warm: { requests: 40_000, ms: 3_000, mostMs: 10_000 } };

/** Below this share of its core the server was not the bottleneck, so that ratios say too little. */
const BUSY = 0.85;

export const warmUp = async (burst: () => Promise<Volley>, { requests, ms, mostMs }: Bursts["warm"]): Promise<void> => {
  const began = performance.now();
  const since = (): number => performance.now() - began;
  let last = 0;
  for (let [answered, isSteady] = [0, false]; (answered < requests || since() < ms || !isSteady) && since() < mostMs;) {
    const volley = await burst();
    answered += volley.requests;
    isSteady = agree(last, rate(volley));
    last = rate(volley);
  }
};

/** Warms up each contestant, then alternates bursts, so that a busy moment of the machine affects all of them. Rejects at a wrong answer. */
export const alternate = async (
  contests: Readonly<Record<string, Contest>>,
  { rounds, warm }: Bursts,
): Promise<Readonly<Record<string, Outcome>>> => {
  const entries = Object.entries(contests);
  const sums = entries.map(() => ({ rates: Array<number>(), cpuUs: 0, requests: 0, seconds: 0 }));
  for (const { burst } of Object.values(contests)) await warmUp(burst, warm);
  for (let round = 0; round < rounds; round += 1)
    for (const [place, [name, { burst, answers, pid }]] of entries.entries()) {
      const before = cpuUsOf(pid);
      const volley = await burst();
      const flaw = answers?.flaw();
      if (flaw !== undefined) throw new Error(`Bad answers: ${name}: ${flaw}.`);
      const sum = sums[place];
      if (sum === undefined) continue;
      sum.rates.push(rate(volley));
      sum.cpuUs += cpuUsOf(pid) - before;
      sum.requests += volley.requests;
      sum.seconds += volley.seconds;
    }
  const outcomes: Record<string, Outcome> = {};
  for (const [place, [name, { pid }]] of entries.entries()) {
    const { rates, cpuUs, requests, seconds } = sums[place] ?? { rates: [], cpuUs: Number.NaN, requests: 0, seconds: 0 };
    const share = cpuUs / (seconds * 1e6);
    if (pid !== undefined && share < BUSY) note(`${name}: its server had work for ${Math.round(share * 100)} % of the time.`);
    outcomes[name] = { rates, cpuUs: Number.isNaN(cpuUs) ? undefined : cpuUs / requests };
  }
  return outcomes;
};

/** Compares servers over HTTP. */
export const compete = (
  shots: Readonly<Record<string, Shot>>,
  { connections, ...bursts }: Bursts & { readonly connections: number },
): Promise<Readonly<Record<string, Outcome>>> =>
  alternate(
    Object.fromEntries(
      Object.entries(shots).map(([name, shot]) => [
        name,
        { ...shot, burst: () => fire(shot, connections, bursts.burstMs) } satisfies Contest,
      ]),
    ),
    bursts,
  );

/** Prints the rate of each contestant. */
export const printRates = (what: string, outcomes: Readonly<Record<string, Outcome>>): void => {
  for (const [name, { rates, cpuUs }] of Object.entries(outcomes)) print({ what: `${what}: ${name}`, measured: rates, unit: "/s", cpuUs });
};

/** Prints the ratio of the first rate to the second. `floor` is the minimal implementation, compared with the second in the same way. */
export const printTimes = (what: string, first: Outcome | undefined, second: Outcome | undefined, least?: number, floor?: Outcome): void =>
  print({
    what,
    measured: times(first?.rates ?? [], second?.rates ?? []),
    unit: "×",
    cpuUs: first?.cpuUs,
    least,
    floor: floor && times(floor.rates, second?.rates ?? []),
  });
