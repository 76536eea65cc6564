import { connect, type Socket } from "node:net";

/** One HTTP request, as it goes over the wire again and again. */
export interface Shot {
  readonly port: number;
  /** By connection, since a session must not have two requests of one id under way. */
  readonly text: (connection: number) => string;
  /** Looks at one response's body; false: it was not what it should be. */
  readonly good: (body: string) => boolean;
}

export interface Volley {
  readonly requests: number;
  readonly seconds: number;
  readonly bad: number;
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

/** Keep-alive connections, one request under way on each: closed loop. Reads Content-Length and chunked responses. */
export const fire = async (shot: Shot, connections: number, forMs: number): Promise<Volley> => {
  let requests = 0;
  let bad = 0;
  const started = performance.now();
  const until = started + forMs;
  const one = (connection: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const request = shot.text(connection);
      const socket: Socket = connect(shot.port, "127.0.0.1");
      socket.setNoDelay(true);
      socket.setEncoding("latin1");
      let text = "";
      socket.on("connect", () => socket.write(request));
      socket.on("error", reject);
      socket.on("data", (chunk: string) => {
        text += chunk;
        const end = text.indexOf(HEADER_END);
        if (end < 0) return;
        const head = text.slice(0, end).toLowerCase();
        const length = /content-length: (\d+)/.exec(head)?.[1];
        const bodyStart = end + HEADER_END.length;
        if (length === undefined ? !text.endsWith("0\r\n\r\n") : text.length < bodyStart + Number(length)) return;
        requests += 1;
        if (!shot.good(text.slice(bodyStart))) bad += 1;
        text = "";
        if (performance.now() < until) socket.write(request);
        else {
          socket.destroy();
          resolve();
        }
      });
      socket.on("close", resolve);
    });
  await Promise.all(Array.from({ length: connections }, (_, connection) => one(connection)));
  return { requests, seconds: (performance.now() - started) / 1000, bad };
};

/** Requests a second. */
export const rate = (volley: Volley): number => volley.requests / volley.seconds;

/** Callers that each wait for their answer before they call again. Calls a second. */
export const callers = async (count: number, forMs: number, call: (caller: number) => Promise<unknown>): Promise<number> => {
  const until = performance.now() + forMs;
  let calls = 0;
  await Promise.all(
    Array.from({ length: count }, async (_, caller) => {
      while (performance.now() < until) {
        await call(caller);
        calls += 1;
      }
    }),
  );
  return calls / (forMs / 1_000);
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

/** Alternating bursts, so that a busy moment of the machine hits all alike. Per contestant: the median rate, and the median ratio to the first. */
export const compete = async (
  contestants: Readonly<Record<string, Shot>>,
  { rounds = 7, connections = 32, burstMs = 1_000 } = {},
): Promise<Readonly<Record<string, { readonly rate: number; readonly ratio: number; readonly bad: number }>>> => {
  const names = Object.keys(contestants);
  const rates: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  const bad: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
  for (const [name, shot] of Object.entries(contestants)) await fire(shot, connections, 500).then((volley) => (bad[name] = volley.bad));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, shot] of Object.entries(contestants)) {
      const volley = await fire(shot, connections, burstMs);
      rates[name]?.push(rate(volley));
      bad[name] = (bad[name] ?? 0) + volley.bad;
    }
  const first = rates[names[0] ?? ""] ?? [];
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        rate: median(rates[name] ?? []),
        ratio: median((rates[name] ?? []).map((value, round) => value / (first[round] ?? Number.NaN))),
        bad: bad[name] ?? 0,
      },
    ]),
  );
};
