// Capabilities as MCP tools, through a gateway and an in-memory connection: from JSON text to JSON text, without a socket.
import type { Caller, Viewer } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { createGateway } from "troupe/gateway";
import { Capabilities, capabilitySource, PacketFlow } from "troupe/packet";
import { connectInMemory, type MemoryClient } from "troupe/transport";
import type { BenchOptions } from "./options.ts";
import { busy, echo, listed, tally } from "./kinds/packets.ts";
import { beyond } from "./statistics.ts";
import { each, print, rounds } from "./table.ts";

const CAPABILITIES = 100;
const ADA: Caller & Viewer = { principal: "ada", scopes: [] };

/** Sends one request at a time and returns the text of its response. */
const requester = (client: MemoryClient): ((text: string) => Promise<string>) => {
  let answered: (text: string) => void = () => undefined;
  client.onMessage((text) => answered(text));
  return (text) =>
    new Promise((resolve) => {
      answered = resolve;
      client.send(text);
    });
};

const request = (method: string, params: object): string => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

const served = async () => {
  const capabilities = new Capabilities([tally, echo, busy]);
  capabilities.register(...Array.from({ length: CAPABILITIES - 3 }, (_, n) => listed(n)));
  const engine = await LocalEngine.start({ kinds: [tally.kind] });
  const flow = new PacketFlow({ capabilities, engine });
  const source = capabilitySource({
    capabilities,
    engine,
    actors: flow.actors,
    run: (id, payload, options) => flow.running.run(id, payload, options),
  });
  const gateway = createGateway({ source, info: { name: "bench", version: "1" }, rateLimit: false });
  const client = connectInMemory(gateway, ADA);
  const ask = requester(client);
  await ask(request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } }));
  client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  const end = async (): Promise<void> => {
    await client[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
    source[Symbol.dispose]();
    await flow[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  };
  return { capabilities, flow, source, ask, [Symbol.asyncDispose]: end };
};

type Served = Awaited<ReturnType<typeof served>>;

const lists = async ({ capabilities, flow, source, ask }: Served, count: number): Promise<void> => {
  const list = request("tools/list", {});
  const made: number[] = [];
  const [answered = [], remade = []] = await rounds(
    count,
    () => each(500, () => ask(list)),
    // Registers and unregisters a capability, which makes the list twice.
    async () => (await each(50, () => capabilities.register(listed(CAPABILITIES))())) / 2,
  );
  for (let round = 0; round < count; round += 1) {
    const fresh = new Capabilities(Array.from({ length: CAPABILITIES }, (_, n) => listed(n)));
    const started = performance.now();
    const first = capabilitySource({
      capabilities: fresh,
      engine: EMPTY,
      actors: flow.actors,
      run: (id, payload, options) => flow.running.run(id, payload, options),
    });
    if ((await first.surface(ADA)).catalogue.tools.length !== CAPABILITIES) throw new Error("Not all are listed.");
    made.push((performance.now() - started) * 1_000);
    first[Symbol.dispose]();
  }
  if ((await source.surface(ADA)).catalogue.tools.length !== CAPABILITIES) throw new Error("Not all are listed.");
  const row = (what: string, measured: readonly number[]): void => print({ what, measured, unit: "µs", target: 20, spec: "1 ms" });
  row(`tools/list of ${CAPABILITIES} asked for again, from text to text`, answered);
  row(`the list made anew since one of ${CAPABILITIES} came or went`, remade);
  // Infers schemas and prepares each tool once, however often the list changes.
  print({ what: `${CAPABILITIES} capabilities made known, before any list`, measured: made, unit: "µs", target: 1_000, spec: "1 ms" });
};

/** An engine without actors. */
const EMPTY = { read: () => Promise.resolve(undefined), watch: () => () => undefined };

const calls = async ({ flow, source, ask }: Served, count: number): Promise<void> => {
  const context = { user_id: "ada" };
  const args = { text: "as it is" };
  const call = (name: string): string => request("tools/call", { name, arguments: args });
  const calledEcho = call("echo");
  const calledBusy = call("busy");
  const [ran = [], acted = [], requested = []] = await rounds(
    count,
    () => each(1_000, () => flow.running.run("echo", args, { viewer: ADA, context })),
    () => each(1_000, () => source.act(ADA, "tools/echo", args, {})),
    () => each(1_000, () => ask(calledEcho)),
  );
  const row = (what: string, measured: readonly number[]): void => print({ what, measured, unit: "µs", target: 20, spec: "0.5 ms" });
  row("a capability without state, run in process: contract, time limit, copy", ran);
  row("tool call: what the source adds to it (arguments checked, result as content)", beyond(acted, ran));
  row("tool call: what MCP adds to it, from text to text", beyond(requested, ran));
  const [spun = [], through = []] = await rounds(
    count,
    async () => (await each(20, () => flow.running.run("busy", args, { viewer: ADA, context }))) / 1_000,
    async () => (await each(20, () => ask(calledBusy))) / 1_000,
  );
  print({ what: "a capability of 1 ms, run in process", measured: spun, unit: "ms", target: 1.1, spec: "1.1 ms" });
  print({ what: "a capability of 1 ms as an MCP tool, from text to text", measured: through, unit: "ms", target: 1.1, spec: "1.1 ms" });
};

export const tools = async ({ quick }: BenchOptions): Promise<void> => {
  const count = quick ? 5 : 15;
  await using all = await served();
  if (!(await all.ask(request("tools/call", { name: "echo", arguments: { text: "x" } }))).includes("structuredContent"))
    throw new Error("A tool call did not give its result.");
  await lists(all, count);
  await calls(all, count);
};
