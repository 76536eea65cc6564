// Actors of capabilities in memory, without a store: creation, routing, memory and expiry.
import type { Engine, Viewer } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import { type Actors, Capabilities, PacketFlow } from "troupe/packet";
import type { BenchOptions } from "./options.ts";
import { exposeGc, heapSize } from "./heap-size.ts";
import { tally } from "./kinds/packets.ts";
import { beyond, median } from "./statistics.ts";
import { each, print, rounds } from "./table.ts";

interface Size {
  /** Rounds of bursts. */
  readonly rounds: number;
  /** Rounds of measurements that take seconds. */
  readonly few: number;
  /** Actors of other users. */
  readonly many: number;
  /** How long idle actors are observed. */
  readonly restMs: number;
  /** Actors that expire after `ms`. */
  readonly short: { readonly count: number; readonly ms: number };
}

const sizeOf = ({ quick }: BenchOptions): Size =>
  quick
    ? { rounds: 5, few: 1, many: 5_000, restMs: 150, short: { count: 3_000, ms: 500 } }
    : { rounds: 15, few: 3, many: 50_000, restMs: 500, short: { count: 10_000, ms: 2_000 } };

const as = (principal: string): Viewer => ({ principal, scopes: [] });

const flowOver = (engine: Engine, maxPerUser: number): PacketFlow =>
  new PacketFlow({ capabilities: new Capabilities([tally]), engine, actors: { maxPerUser } });

const start = (): Promise<LocalEngine> => LocalEngine.start({ kinds: [tally.kind] });

/** Creates one actor for each of `count` new users. Returns microseconds per actor. */
const createActors = (actors: Actors, count: number, name: string): Promise<number> =>
  each(count, (n) => actors.getOrCreateActor("tally", `${name}-${n}`, { viewer: as(`${name}-${n}`) }));

const creation = async (size: Size): Promise<void> => {
  const row = (what: string, measured: readonly number[]): void => print({ what, measured, unit: "µs", target: 20, spec: "1 ms" });
  const alone = async (maxPerUser: number): Promise<number> => {
    await using engine = await start();
    return await createActors(flowOver(engine, maxPerUser).actors, 200, "user");
  };
  const [unlimited = [], limited = []] = await rounds(
    size.rounds,
    () => alone(Number.POSITIVE_INFINITY),
    () => alone(10),
  );
  row("actor creation: getOrCreateActor, users without a limit", unlimited);
  row("actor creation: the same with at most 10 for each user, among 200", limited);
  await using crowded = await start();
  await createActors(flowOver(crowded, Number.POSITIVE_INFINITY).actors, size.many, "other");
  const { actors } = flowOver(crowded, 10);
  const [among = []] = await rounds(3, () => createActors(actors, 5, `added-${performance.now()}`));
  row(`actor creation: the same, among ${size.many} of others`, among);
};

const routing = async (size: Size): Promise<void> => {
  await using engine = await start();
  await using flow = flowOver(engine, 10);
  const viewer = as("ada");
  const text = JSON.stringify({
    version: "1.0",
    type: "actor_message",
    id: "1",
    capability_id: "tally",
    actor_id: "main",
    payload: { by: 1 },
    context: { user_id: "ada", session_id: "s", trace_id: "0123456789abcdef0123456789abcdef" },
  });
  await flow.actors.getOrCreateActor("tally", "main", { viewer });
  const session = flow.open({ caller: viewer });
  const context = { user_id: "ada" };
  const [bare = [], requested = [], ran = [], packet = []] = await rounds(
    size.rounds,
    () => each(2_000, () => engine.call({ to: "tally/main", action: "add", args: { payload: { by: 1 }, context }, viewer })),
    () => each(2_000, () => flow.actors.requestFromActor("tally", "main", { by: 1 }, { viewer, context })),
    () => each(2_000, () => flow.running.run("tally", { by: 1 }, { viewer, context, actor_id: "main" })),
    () => each(2_000, async () => JSON.stringify(await session.receive(text))),
  );
  const row = (what: string, measured: readonly number[]): void => print({ what, measured, unit: "µs", target: 10, spec: "0.1 ms" });
  row("message: Engine.call of the turn alone, for comparison", bare);
  row("message: what requestFromActor adds to it", beyond(requested, bare));
  row("message: what a run adds to it (contract, trace, effects)", beyond(ran, bare));
  row("message: what a packet adds to it, from text to text", beyond(packet, bare));
  row("message: a packet as a whole, from text to text", packet);
};

const memory = async (size: Size): Promise<void> => {
  await exposeGc();
  await using engine = await start();
  await using flow = flowOver(engine, Number.POSITIVE_INFINITY);
  const message = (name: string): Promise<unknown> =>
    flow.actors.requestFromActor("tally", name, { by: 1 }, { viewer: as(name), context: { user_id: name } });
  for (let n = 0; n < 2_000; n += 1) await message(`warm-${n}`);
  const measured: number[] = [];
  for (let round = 0; round < size.few; round += 1) {
    const before = heapSize();
    for (let n = 0; n < 20_000; n += 1) await message(`user-${round}-${n}`);
    measured.push((heapSize() - before) / 20_000);
  }
  print({
    what: "an actor's memory: state { count }, last event, timer, one message",
    measured,
    unit: "bytes",
    target: 3_000,
    spec: "50 KB",
  });
};

const cpuUs = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return user + system;
};

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

const sweep = async (size: Size): Promise<void> => {
  await exposeGc();
  // Measured without actors first, to subtract what the process itself uses.
  const resting = async (): Promise<number> => {
    const since = process.cpuUsage();
    await wait(size.restMs);
    return (cpuUs(since) * 1_000) / size.restMs;
  };
  heapSize();
  const [alone = []] = await rounds(size.few + 2, resting);
  await using engine = await start();
  await using flow = flowOver(engine, Number.POSITIVE_INFINITY);
  await createActors(flow.actors, size.many, "idle");
  heapSize();
  const [idle = []] = await rounds(size.few + 2, resting);
  print({
    what: `sweep: processor time a second for each of ${size.many} that are idle, beyond this process's own`,
    measured: idle.map((us) => Math.max(0, us - median(alone)) / size.many).toSorted((one, other) => one - other),
    unit: "µs",
    target: 0.2,
    spec: "10 µs",
  });
  const [ended = []] = await rounds(size.few, async () => {
    await using short = await start();
    const { actors } = flowOver(short, Number.POSITIVE_INFINITY);
    const from = performance.now();
    await each(size.short.count, (n) =>
      actors.getOrCreateActor("tally", `short-${n}`, { viewer: as(`short-${n}`), options: { state_timeout: size.short.ms } }),
    );
    heapSize();
    if (performance.now() - from > size.short.ms) throw new Error("They ended before all had begun: this machine is busy.");
    const since = process.cpuUsage();
    while ((await short.count({ kind: "tally" })) > 0) await wait(50);
    return cpuUs(since) / size.short.count;
  });
  print({ what: "to end one whose time is up, once in its life", measured: ended, unit: "µs", target: 10, spec: "10 µs" });
};

export const actors = async (options: BenchOptions): Promise<void> => {
  const size = sizeOf(options);
  await creation(size);
  await routing(size);
  await memory(size);
  await sweep(size);
};
