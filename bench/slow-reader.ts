// What the server holds for a client that reads nothing any more, while 100,000 things happen that it would be told of.
import { createServer } from "troupe/server";
import { until } from "troupe/testing";
import type { Asked } from "./asked.ts";
import { type Clients, inUse, newClients } from "./clients.ts";
import { exposeGc } from "./heap.ts";
import { print } from "./table.ts";

/** For each client: what may be asked for again of one stream, which is the most that is ever kept of progress. */
const LIMIT = 1_048_576;

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const newServer = (steps: number) => {
  const server = createServer("bench", "1.0.0", { rateLimit: false });
  const dug = { steps: 0, of: steps };
  server.tools.register({ name: "dig", description: "Tells each of its steps." }, async ({ emit }) => {
    for (dug.steps = 0; dug.steps < steps; dug.steps += 1) {
      emit({ step: dug.steps, of: steps, said: "so many feet below the ground by now" });
      await round();
    }
    return "Dug.";
  });
  return { server, dug };
};

type Served = ReturnType<typeof newServer>;

/** A tool comes and goes, each time seen by whoever watches. */
const change = async ({ server, dug }: Served): Promise<void> => {
  for (let step = 0; step < dug.of; step += 1) {
    if (step % 2 === 0) server.tools.register({ name: "door", description: "Comes and goes." }, () => "Open.");
    else server.tools.unregister("door");
    await round();
  }
};

const dig = ({ dug }: Served): Promise<void> => until("all steps are told", () => dug.steps === dug.of, 60_000);

interface Case {
  /** By which the clients begin, and read no more. */
  readonly act: string;
  readonly count: number;
  readonly happen: (served: Served) => Promise<void>;
}

/** Bytes held for each of the clients that did `act`, after all that happened and while they are there still. */
const held = async (clients: Clients, { act, count, happen, steps }: Case & { readonly steps: number }): Promise<number> => {
  const served = newServer(steps);
  await using server = served.server;
  const { http, tcp } = await server.listen({ http: { port: 0 }, tcp: { port: 0 } });
  await clients.told("sessions", http.port, count);
  const before = await inUse();
  await clients.told(act, act === "mute-line" ? tcp.port : http.port, count);
  await happen(served);
  const bytes = ((await inUse()) - before) / count;
  await clients.leave();
  await server.close({ graceMs: 0 });
  return Math.max(0, bytes);
};

export const run = async ({ quick }: Asked): Promise<void> => {
  await exposeGc();
  const [steps, rounds] = quick ? [10_000, 1] : [100_000, 3];
  using clients = newClients();
  const row = async (what: string, one: Case): Promise<void> => {
    await held(clients, { ...one, steps: steps / 20 });
    const measured: number[] = [];
    while (measured.length < rounds) measured.push(await held(clients, { ...one, steps }));
    print({ what: `held for one that reads nothing, ${steps} ${what}`, measured, unit: "bytes", target: LIMIT, spec: "bounded" });
  };
  // Far apart from round to round, and as much where clients read: V8's tables of WeakMaps (of lists, from which changes are told)
  // stay as large as what came between two collections, in powers of two. They are the process's, once.
  await row("changes, GET stream", { act: "mute-get", count: 4, happen: change });
  await row("changes, subscriptions/listen", { act: "mute-listen", count: 4, happen: change });
  await row("changes, TCP", { act: "mute-line", count: 4, happen: change });
  await row("steps of progress of its call, SSE", { act: "mute-call", count: 1, happen: dig });
};
