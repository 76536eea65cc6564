/**
 * Records calls and their outcomes, to compare them with a store's chains: law 1, C2, C4 and C5
 * from outside. Every call has its own trace, which the chain stores with each
 * event that follows from it.
 */
import assert from "node:assert/strict";
import { readBody, readHeader, verify } from "../../src/core/chain/index.ts";
import type { ActorId, ChainEvent, Header, Json, Receipt, Store } from "../../src/core/contract/index.ts";
import { at } from "../wire.ts";

/** A call and its outcome. */
export interface Called {
  readonly id: string;
  readonly what: string;
  /** `ok`: reported as applied. `refused`: reported as refused. `open`: not answered. */
  outcome: "ok" | "refused" | "open";
  /** It only reads, and leaves no event. */
  readonly looks: boolean;
  receipt?: Receipt;
  text?: string;
}

export interface Recorded {
  readonly event: ChainEvent;
  readonly header: Header;
  readonly message: Json;
  readonly sent: readonly string[];
  readonly reply: Json | undefined;
}

/** W3C `traceparent` of the `n`th call. */
export const traceOf = (n: number): string => `00-${(n + 1).toString(16).padStart(32, "0")}-00000000000000ff-01`;

const PAGE = 1_000;

export const isActorId = (text: string): text is ActorId => text.includes("/");

export async function actorsOf(store: Store): Promise<readonly ActorId[]> {
  const found: ActorId[] = [];
  for (;;) {
    const last = found.at(-1);
    const page = await store.list({ limit: PAGE, ...(last === undefined ? {} : { after: last }) });
    found.push(...page.map(({ id }) => id));
    if (page.length < PAGE) return found;
  }
}

export async function chainOf(store: Store, id: ActorId): Promise<readonly ChainEvent[]> {
  const events: ChainEvent[] = [];
  for (;;) {
    const page = await store.events(id, events.length, PAGE);
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

export class Ledger {
  readonly #calls = new Map<string, Called>();

  /** The next call and its trace. */
  open(what: string, looks: boolean): { readonly call: Called; readonly trace: string } {
    const trace = traceOf(this.#calls.size);
    const call: Called = { id: `call-${this.#calls.size}`, what, outcome: "open", looks };
    this.#calls.set(trace, call);
    return { call, trace };
  }

  /** By trace. */
  get calls(): ReadonlyMap<string, Called> {
    return this.#calls;
  }

  get size(): number {
    return this.#calls.size;
  }

  count(outcome: Called["outcome"]): number {
    return [...this.#calls.values()].filter((call) => call.outcome === outcome).length;
  }

  get receipts(): readonly Receipt[] {
    return [...this.#calls.values()].flatMap(({ receipt }) => (receipt === undefined ? [] : [receipt]));
  }

  /**
   * Every chain is valid and confirms every receipt; acknowledged calls occur exactly once, others at
   * most once; each message was applied once and has a sender. Returns the chains.
   */
  async check(store: Store): Promise<ReadonlyMap<ActorId, readonly Recorded[]>> {
    const chains = new Map<ActorId, readonly Recorded[]>();
    const { receipts } = this;
    for (const id of await actorsOf(store)) {
      const events = await chainOf(store, id);
      const verdict = verify(events, { actor: id, receipts: receipts.filter(({ actor }) => actor === id) });
      assert.deepEqual(verdict.flaw, undefined, id);
      chains.set(
        id,
        events.map((event) => {
          const body = readBody(event);
          assert.ok(body !== undefined);
          return { event, header: readHeader(event), message: body.message, sent: body.sent, reply: body.reply };
        }),
      );
    }
    this.#each(chains);
    return chains;
  }

  #each(chains: ReadonlyMap<ActorId, readonly Recorded[]>): void {
    const roots = new Map<string, Recorded[]>();
    const applied = new Set<unknown>();
    const sent = new Set<string>();
    const all = [...chains.values()].flat();
    for (const { sent: ids } of all) {
      for (const id of ids) {
        assert.ok(!sent.has(id), `${id} was sent twice`);
        sent.add(id);
      }
    }
    for (const one of all) {
      const id = at(one.message, "id");
      assert.ok(!applied.has(id), `message ${String(id)} was applied twice, last by ${one.header.actor} ${one.header.seq}`);
      applied.add(id);
      const from = at(one.message, "from");
      const isWake = from === one.header.actor && String(id).includes(".wake.");
      if (from !== undefined && !isWake)
        assert.ok(
          sent.has(String(id).replace(/\.r$/u, "")),
          `${one.header.actor} ${one.header.seq} applied ${String(id)}, which no actor sent`,
        );
      const trace = at(one.message, "trace", "traceparent");
      if (from !== undefined || typeof trace !== "string" || one.header.type === "begin") continue;
      roots.set(trace, [...(roots.get(trace) ?? []), one]);
    }
    for (const [trace, call] of this.#calls) {
      const found = roots.get(trace) ?? [];
      const summary = `${call.id} ${call.what} (${call.outcome}): ${found.map(({ header }) => `${header.actor} ${header.seq}`).join(", ") || "nowhere"}`;
      assert.ok(found.length <= 1, `applied more than once: ${summary}`);
      if (call.outcome === "ok" && !call.looks) assert.equal(found.length, 1, `acknowledged, and not there: ${summary}`);
      if (call.looks) assert.equal(found.length, 0, `a look left an event: ${summary}`);
      if (call.receipt === undefined) continue;
      const { actor, seq, head } = call.receipt;
      const proved = [...chains].find(([id]) => id === actor)?.[1][seq - 1];
      assert.equal(proved?.event.id, head, `the receipt of ${summary}`);
      assert.equal(at(proved?.message, "trace", "traceparent"), trace, `the receipt of ${summary} is another call's: ${actor} ${seq}`);
    }
  }
}
