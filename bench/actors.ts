// The cost of starting an actor, and the memory of a live one.
import { hash } from "node:crypto";
import { systemClock, systemEntropy } from "troupe/contract";
import { LocalEngine } from "troupe/engine";
import type { BenchOptions } from "./options.ts";
import { exposeGc, heapSize } from "./heap-size.ts";
import { plain } from "./kinds/plain.ts";
import { each, print } from "./table.ts";
import { isTimeLeft } from "./time-left.ts";

interface StartCost {
  readonly us: number;
  readonly bytes: number;
}

/** Starts actors on a new engine, so that rounds are independent. `begin` only commits the first state. */
const startActors = async (count: number, action: "begin" | "add"): Promise<StartCost> => {
  await using engine = await LocalEngine.start({ kinds: [plain("memory")] });
  const before = heapSize();
  const us = await each(count, (n) => engine.call({ to: `plain/a${n}`, action, args: {}, start: null }));
  return { us, bytes: (heapSize() - before) / count };
};

const ID = /^[a-z][a-z0-9-]{0,63}\/[A-Za-z0-9._~-]{1,256}$/u;

const isCount = (state: object): boolean =>
  Object.getPrototypeOf(state) === Object.prototype &&
  Object.getOwnPropertySymbols(state).length === 0 &&
  Object.values(state).every((value) => Number.isFinite(value));

const uuid = (hex: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");

/**
 * The minimal implementation of a start: checks and looks up the id, finds the kind, makes a message, checks and freezes the first state as
 * JSON, derives the uid from the message, stores an object under the id, and returns a promise.
 */
const bare = async (count: number): Promise<StartCost> => {
  const kinds = new Map([["plain", () => ({ count: 0 })]]);
  const all = new Map<string, object>();
  const before = heapSize();
  const us = await each(count, (n) => {
    const to = `plain/a${n}`;
    const initial = kinds.get(to.slice(0, to.indexOf("/")));
    if (!ID.test(to) || initial === undefined || all.has(to)) throw new Error(`${to} is there already, or is no id.`);
    const drawn = systemEntropy.hex(32);
    const [id, seed] = [drawn.slice(0, 32), drawn.slice(32)];
    const message = { id, to, action: "begin", args: Object.freeze({}), at: systemClock.now(), seed, start: null };
    const state = initial();
    if (!isCount(state)) throw new Error(`The state of ${to} is no JSON.`);
    Object.freeze(state);
    const reply = { ok: null };
    all.set(to, { id: to, life: uuid(hash("sha256", `${seed}:life`, "hex")), message, state, reply, seq: 1, at: message.at });
    return Promise.resolve(reply);
  });
  const bytes = (heapSize() - before) / count;
  // Keeps the map alive until the heap was measured.
  if (all.size !== count) throw new Error("Some are missing.");
  return { us, bytes };
};

export const run = async ({ quick }: BenchOptions): Promise<void> => {
  await exposeGc();
  const count = quick ? 50_000 : 200_000;
  const [begun, called, floor]: [StartCost[], StartCost[], StartCost[]] = [[], [], []];
  // The first round warms up.
  for (let round = 0; round <= (quick ? 3 : 5) && (round < 4 || isTimeLeft()); round += 1) {
    const [one, other, least] = [await startActors(count, "begin"), await startActors(count, "add"), await bare(count)];
    if (round === 0) continue;
    begun.push(one);
    called.push(other);
    floor.push(least);
  }
  const us = (all: readonly StartCost[]): number[] => all.map((round) => round.us);
  const bytes = (all: readonly StartCost[]): number[] => all.map((round) => round.bytes);
  print({
    what: `an actor begun, ${count} of them: its first event is there`,
    measured: us(begun),
    unit: "µs",
    target: 2,
    floor: us(floor),
  });
  print({ what: `an actor begun and called once, ${count} of them`, measured: us(called), unit: "µs", floor: us(floor) });
  print({ what: "a live actor with its last event", measured: bytes(called), unit: "bytes", target: 900, floor: bytes(floor) });
};
