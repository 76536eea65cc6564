// Memory of the server for a client that has stopped reading, after 100,000 notifications for it.
import { createServer } from "troupe/server";
import { until } from "troupe/testing";
import type { BenchOptions } from "./options.ts";
import { type Clients, inUse, newClients } from "./idle-client-process.ts";
import { exposeGc } from "./heap-size.ts";
import { print } from "./table.ts";

/** For each client: the size of the replay buffer of one stream, which bounds stored progress. */
const LIMIT = 1_048_576;

const round = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const newServer = (steps: number) => {
  const server = createServer("bench", "1.0.0", { rateLimit: false });
  const dug = { steps: 0, of: steps };
  server.tools.register({ name: "dig", description: "Reports each step." }, async ({ emit }) => {
    for (dug.steps = 0; dug.steps < steps; dug.steps += 1) {
      emit({ step: dug.steps, of: steps, note: "some more feet below the surface by now" });
      await round();
    }
    return "Dug.";
  });
  return { server, dug };
};

type Served = ReturnType<typeof newServer>;

/** Registers and unregisters a tool. Each step notifies all clients. */
const change = async ({ server, dug }: Served): Promise<void> => {
  for (let step = 0; step < dug.of; step += 1) {
    if (step % 2 === 0) server.tools.register({ name: "door", description: "Comes and goes." }, () => "Open.");
    else server.tools.unregister("door");
    await round();
  }
};

const dig = ({ dug }: Served): Promise<void> => until("all steps are reported", () => dug.steps === dug.of, 60_000);

interface Case {
  /** The command after which the clients stop reading. */
  readonly act: string;
  readonly count: number;
  readonly happen: (served: Served) => Promise<void>;
}

/** Bytes for each client that did `act`, after all changes and before they disconnect. */
const held = async (clients: Clients, { act, count, happen, steps }: Case & { readonly steps: number }): Promise<number> => {
  const served = newServer(steps);
  await using server = served.server;
  const { http, tcp } = await server.listen({ http: { port: 0 }, tcp: { port: 0 } });
  await clients.run("sessions", http.port, count);
  const before = await inUse();
  await clients.run(act, act === "mute-line" ? tcp.port : http.port, count);
  await happen(served);
  const bytes = ((await inUse()) - before) / count;
  await clients.leave();
  await server.close({ graceMs: 0 });
  return Math.max(0, bytes);
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  await exposeGc();
  const [steps, rounds] = quick ? [10_000, 1] : [100_000, 3];
  using clients = newClients();
  const row = async (what: string, one: Case): Promise<void> => {
    await held(clients, { ...one, steps: steps / 20 });
    const measured: number[] = [];
    while (measured.length < rounds) measured.push(await held(clients, { ...one, steps }));
    print({ what: `held for one that reads nothing, ${steps} ${what}`, measured, unit: "bytes", target: LIMIT, spec: "bounded" });
  };
  // Varies much between rounds, also for clients that read: V8's WeakMap tables (one entry for each list) keep the size that they had
  // between two collections, in powers of two. The process has them once.
  await row("changes, GET stream", { act: "mute-get", count: 4, happen: change });
  await row("changes, subscriptions/listen", { act: "mute-listen", count: 4, happen: change });
  await row("changes, TCP", { act: "mute-line", count: 4, happen: change });
  await row("steps of progress of its call, SSE", { act: "mute-call", count: 1, happen: dig });
};
