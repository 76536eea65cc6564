// Memory of an idle session, and of an idle stream compared with a bare open response. The stores are in memory.
import { createServer as bareServer } from "node:http";
import { createServer } from "troupe/server";
import type { BenchOptions } from "./options.ts";
import { type Clients, inUse, newClients } from "./idle-client-process.ts";
import { exposeGc } from "./heap-size.ts";
import { print } from "./table.ts";

const MANY = 10_000;

/** Bytes for each of the `count` objects that `open` opens. */
const bytesForEach = async (count: number, open: () => Promise<void>): Promise<number> => {
  const before = await inUse();
  await open();
  return ((await inUse()) - before) / count;
};

const newServer = () => {
  const server = createServer("bench", "1.0.0", { rateLimit: false });
  for (let n = 0; n < 10; n += 1) server.tools.register({ name: `tool_${n}`, description: "Says hello." }, () => "Hello.");
  return server;
};

/** A server that answers with one event and keeps the response open: the cost of node:http alone. */
const bare = async (clients: Clients, count: number): Promise<number> => {
  const server = bareServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: "acknowledged"\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const bytes = await bytesForEach(count, () => clients.run("bare", port, count));
  await clients.leave();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return bytes;
};

const ours = async (
  clients: Clients,
  count: number,
): Promise<{ readonly session: number; readonly get: number; readonly listen: number }> => {
  await using server = newServer();
  const { http } = await server.listen({ http: { port: 0, limits: { streamsPerCaller: MANY } } });
  await clients.run("sessions", http.port, 200);
  const session = await bytesForEach(count, () => clients.run("sessions", http.port, count));
  const get = await bytesForEach(count, () => clients.run("get", http.port, count));
  await clients.leave();
  const listen = await bytesForEach(count, () => clients.run("listen", http.port, count));
  await clients.leave();
  return { session, get, listen };
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  await exposeGc();
  const [count, rounds] = quick ? [3_000, 1] : [MANY, 2];
  using clients = newClients();
  const figures = { session: [0], get: [0], listen: [0], bare: [0] };
  for (const list of Object.values(figures)) list.length = 0;
  // Warms up.
  await ours(clients, MANY / 20);
  await bare(clients, MANY / 20);
  for (let round = 0; round < rounds; round += 1) {
    const held = { ...(await ours(clients, count)), bare: await bare(clients, count) };
    figures.session.push(held.session);
    figures.get.push(held.get - held.bare);
    figures.listen.push(held.listen - held.bare);
    figures.bare.push(held.bare);
  }
  const row = (what: string, measured: readonly number[], target: number, spec: string): void =>
    print({ what, measured, unit: "bytes", target, spec });
  row(`an idle session, of ${count} over HTTP`, figures.session, 800, "2 KB");
  row("a response of node:http kept open, for comparison", figures.bare, 20_000, "none");
  row("an idle GET stream, beyond that", figures.get, 800, "none");
  row("an idle subscriptions/listen, beyond that", figures.listen, 800, "none");
};
