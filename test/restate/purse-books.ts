import assert from "node:assert/strict";
import { readBody, readHeader, verify } from "../../src/core/chain/index.ts";
import type { ActorId, ChainEvent, Engine, Json, Receipt } from "../../src/core/contract/index.ts";
import { until } from "../../src/testing/index.ts";
import { at } from "../wire.ts";
import type { Act } from "./purse-acts.ts";
import { COINS } from "./purses.fixture.ts";

interface Told {
  readonly act: Act;
  readonly refused: boolean;
  /** What it was told, as JSON. */
  readonly reply: Json;
  readonly receipt?: Receipt;
}

interface Recorded {
  readonly actor: ActorId;
  readonly seq: number;
  readonly id: string;
  readonly message: Json;
  readonly sent: readonly string[];
  readonly reply: Json | undefined;
}

type Chains = ReadonlyMap<ActorId, readonly Recorded[]>;

const recorded = (actor: ActorId, event: ChainEvent): Recorded => {
  const body = readBody(event);
  assert.ok(body !== undefined);
  return { actor, seq: readHeader(event).seq, id: event.id, message: body.message, sent: body.sent, reply: body.reply };
};

/** What callers were told, against which the chains are held. */
export class PurseBooks {
  readonly #told = new Map<string, Told>();
  readonly #owners: readonly string[];

  constructor(owners: readonly string[]) {
    this.#owners = owners;
  }

  get size(): number {
    return this.#told.size;
  }

  acknowledge(told: Told): void {
    assert.ok(!this.#told.has(told.act.op), `${told.act.op} was acknowledged twice`);
    this.#told.set(told.act.op, told);
  }

  get actors(): readonly ActorId[] {
    return [...this.#owners.map((owner): ActorId => `purse/${owner}`), "tally/main"];
  }

  /**
   * Waits until nothing is on its way. Then: chains are sound and prove every receipt; what was acknowledged is there once, what was
   * refused nowhere; payments arrived once and in order (C5); nothing appeared and nothing was lost.
   */
  async check(engine: Engine): Promise<void> {
    let chains: Chains = new Map();
    await until("every payment has arrived", async () => {
      chains = await this.#read(engine);
      const all = [...chains.values()].flat();
      const arrived = new Set(all.map(({ message }) => at(message, "id")));
      return all.every(({ sent }) => sent.every((id) => arrived.has(id)));
    });
    this.#each([...chains.values()].flat());
    for (const owner of this.#owners) for (const from of this.#owners) inOrder(chains, from, owner);
    const states = await Promise.all(this.actors.map(async (id) => (await engine.read(id))?.state));
    const coins = states.slice(0, -1).map((state) => Number(at(state, "coins")));
    assert.equal(
      coins.reduce((sum, one) => sum + one, 0),
      COINS * this.#owners.length,
      `coins are conserved: ${coins.join(", ")}`,
    );
    const added = [...this.#told.values()].reduce((sum, { act }) => sum + Number(act.args["by"] ?? 0), 0);
    assert.equal(at(states.at(-1), "sum"), added, "the tally is the sum of what was added");
  }

  async #read(engine: Engine): Promise<Chains> {
    const receipts = [...this.#told.values()].flatMap(({ receipt }) => (receipt === undefined ? [] : [receipt]));
    const chains = new Map<ActorId, readonly Recorded[]>();
    for (const id of this.actors) {
      const events: ChainEvent[] = [];
      for await (const event of engine.history(id)) events.push(event);
      assert.equal(verify(events, { actor: id, receipts: receipts.filter(({ actor }) => actor === id) }).flaw, undefined, id);
      chains.set(
        id,
        events.map((event) => recorded(id, event)),
      );
    }
    return chains;
  }

  #each(all: readonly Recorded[]): void {
    const messages = all.map(({ message }) => at(message, "id"));
    assert.equal(new Set(messages).size, messages.length, "no message was applied twice");
    const byOp = Map.groupBy(all, ({ message }) => String(at(message, "args", "op")));
    for (const [op, { act, refused, reply, receipt }] of this.#told) {
      const found = byOp.get(op) ?? [];
      const where = `${op} ${JSON.stringify(act)}: ${found.map(({ actor, seq }) => `${actor} ${seq}`).join(", ") || "nowhere"}`;
      assert.equal(found.length, refused ? 0 : 1, where);
      const [only] = found;
      if (only === undefined) continue;
      assert.deepEqual(only.reply, { ok: reply }, `what was told is what is written: ${where}`);
      if (receipt !== undefined) assert.deepEqual(receipt, { actor: only.actor, seq: only.seq, head: only.id }, `the receipt of ${where}`);
    }
    for (const op of byOp.keys()) assert.ok(op === "undefined" || this.#told.has(op), `${op} is nobody's`);
  }
}

/** C5 what one purse paid another came in the order it was paid in, each once. */
const inOrder = (chains: Chains, from: string, to: string): void => {
  const paid = (chains.get(`purse/${from}`) ?? []).filter(({ message }) => at(message, "args", "to") === to);
  const gained = (chains.get(`purse/${to}`) ?? []).filter(({ message }) => at(message, "args", "from") === from);
  assert.deepEqual(
    gained.map(({ message }) => [at(message, "id"), at(message, "args", "n"), at(message, "args", "coins")]),
    paid.map(({ message, sent }, index) => [sent[0], index + 1, at(message, "args", "coins")]),
    `payments from ${from} to ${to}`,
  );
};
