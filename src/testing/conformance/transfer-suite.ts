// Owns: the tests of every pair of exporter and importer. Does not own: entries (store-entries.ts).
import assert from "node:assert/strict";
import type {
  ActorId,
  ChainEvent,
  Clock,
  DeadLetter,
  Entry,
  ExportedActor,
  Exporter,
  Importer,
  KeyedCall,
  Row,
  Undelivered,
} from "../../core/contract/index.ts";
import { SimulatedClock } from "../simulated-clock.ts";
import { ChainWriter, type EntryOptions, messageTo } from "./store-entries.ts";

/** A place that actors are exported from and imported to. Opened for one at a time. */
export interface TransferPlace extends AsyncDisposable {
  importer(clock: Clock): Importer | Promise<Importer>;
  exporter(clock: Clock): Exporter | Promise<Exporter>;
}

/** All that an exporter yields. */
export interface Exported {
  readonly actors: readonly {
    readonly actor: ExportedActor;
    readonly events: readonly ChainEvent[];
    readonly calls: readonly KeyedCall[];
  }[];
  readonly undelivered: readonly Undelivered[];
  readonly letters: readonly DeadLetter[];
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** All that an exporter has, in memory. */
export async function exportedBy(exporter: Exporter, kind?: string): Promise<Exported> {
  const actors: Exported["actors"][number][] = [];
  for await (const { id, row, seq, head, ...leaving } of exporter.actors(kind)) {
    const events = await all(leaving.events());
    actors.push({ actor: { id, row, seq, head }, events, calls: await all(leaving.calls()) });
  }
  return { actors, undelivered: await all(exporter.undelivered()), letters: await all(exporter.letters()) };
}

/** An actor that was written turn by turn. */
class Written {
  readonly entries: Entry[] = [];
  readonly calls: KeyedCall[];
  readonly id: ActorId;

  constructor(id: ActorId, turns: number, row: Partial<Row> = {}, calls: readonly KeyedCall[] = [], more: EntryOptions = {}) {
    this.id = id;
    this.calls = [...calls];
    const writer = new ChainWriter(id);
    for (let turn = 0; turn < turns; turn += 1) this.entries.push(writer.next({ ...more, row: { uid: writer.life, ...row } }));
  }

  get last(): Entry {
    const last = this.entries.at(-1);
    assert.ok(last);
    return last;
  }

  get actor(): ExportedActor {
    return { id: this.id, row: this.last.row, seq: this.last.seq, head: this.last.event.id };
  }

  /** As it is exported. */
  get whole(): Exported["actors"][number] {
    return { actor: this.actor, events: this.entries.map(({ event }) => event), calls: this.calls };
  }

  async comesTo(importer: Importer, end: "commit" | "abort" | "none" = "commit"): Promise<void> {
    const arrival = await importer.actor(this.actor);
    assert.ok(arrival, `${this.id} is not there yet`);
    for (const { event, full } of this.entries) await arrival.event(event, full);
    for (const call of this.calls) await arrival.call(call);
    if (end === "commit") await arrival.commit({ n: this.entries.length });
    else if (end === "abort") await arrival.abort();
  }
}

const conflict = { name: "StoreError", code: "STORE_CONFLICT" };

/** Registers the tests every pair of `Exporter` and `Importer` passes, with `node:test`. */
export function transferSuite(name: string, place: () => TransferPlace | Promise<TransferPlace>): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (place: TransferPlace, clock: SimulatedClock) => Promise<void>): void => {
    test(title, async () => {
      await using opened = await place();
      await run(opened, new SimulatedClock());
    });
  };
  const takes = async (to: TransferPlace, clock: Clock, run: (importer: Importer) => Promise<void>): Promise<void> => {
    await using importer = await to.importer(clock);
    await run(importer);
    await importer.flush();
  };
  const tells = async (from: TransferPlace, clock: Clock, kind?: string): Promise<Exported> => {
    await using exporter = await from.exporter(clock);
    assert.equal(exporter.at, clock.now());
    return await exportedBy(exporter, kind);
  };

  describe(name, () => {
    it("C7 an imported actor is exported unchanged: rows, texts, erased bodies, replies, order", async (to, clock) => {
      const until = clock.now() + 60_000;
      const calls: KeyedCall[] = [
        { key: "ann\nk1", call: "c1", until, reply: { ok: { a: [1, null] } } },
        { key: "ann\nk2", call: "", until, reply: { refused: { code: "NO", message: "No." } } },
        { key: "bob\n☃", call: "c3", until: 2 ** 60 },
      ];
      const rich: Partial<Row> = {
        owner: "iss|sub ☃",
        parent: "home/h",
        muted: true,
        status: "failed",
        policy: { expireMs: 5, idleMs: 7 },
        wakes: { beat: { at: 9, everyMs: 3, action: "tick", args: { x: 1 }, cause: "c", rang: 6 } },
        pending: { "m.1": { key: [1, null, { a: "b" }] } },
      };
      // "a-b/…" is sorted by its kind, which comes after "a".
      const few = [new Written("a/z", 3, rich, calls), new Written("a-b/c", 1), new Written("door/%E2%98%83", 20)];
      const erased = new Written("door/old", 40);
      for (const [index, entry] of erased.entries.entries())
        if (index < 32) erased.entries[index] = { ...entry, event: { id: entry.event.id, header: entry.event.header } };
      const travellers = [...few, erased];
      const undelivered = ["m.2", "m.1"].map((id, failures) => ({ message: messageTo("door/old", id), failures }));
      const letters = [{ message: messageTo("missing/x", "m.0"), why: "NO_ACTOR: three times", at: 77 }];
      await takes(to, clock, async (importer) => {
        for (const actor of travellers) await actor.comesTo(importer);
        for (const one of undelivered) assert.equal(await importer.message(one), true);
        for (const one of letters) assert.equal(await importer.letter(one), true);
      });
      assert.deepEqual(await tells(to, clock), { actors: travellers.map(({ whole }) => whole), undelivered, letters });
      assert.deepEqual(
        (await tells(to, clock, "door")).actors.map(({ actor }) => actor.id),
        ["door/%E2%98%83", "door/old"],
      );
    });

    it("a chain of thousands of events is exported in order", async (to, clock) => {
      const long = new Written("door/long", 4_200);
      await takes(to, clock, (importer) => long.comesTo(importer));
      assert.deepEqual((await tells(to, clock)).actors, [long.whole]);
    });

    it("an expired reply is not exported", async (to, clock) => {
      const soon = { key: "a\nk", call: "c", until: clock.now() + 10, reply: { ok: 1 } };
      const actor = new Written("door/a", 1, {}, [soon, { ...soon, key: "b\nk", until: clock.now() + 20 }]);
      await takes(to, clock, (importer) => actor.comesTo(importer));
      await clock.advance(10);
      assert.deepEqual(
        (await tells(to, clock)).actors.map(({ calls }) => calls.map(({ key }) => key)),
        [["b\nk"]],
      );
    });

    it("an aborted or uncommitted import leaves nothing", async (to, clock) => {
      const [first, lost, second, third] = ["a", "b", "c", "d"].map(
        (key) => new Written(`door/${key}`, 70, {}, [{ key: "k", call: "c", until: clock.now() + 9 }]),
      );
      assert.ok(first && lost && second && third);
      await takes(to, clock, async (importer) => {
        await first.comesTo(importer);
        await lost.comesTo(importer, "abort");
        await second.comesTo(importer);
      });
      {
        await using importer = await to.importer(clock);
        await third.comesTo(importer, "none");
      }
      assert.deepEqual((await tells(to, clock)).actors, [first.whole, second.whole]);
      await takes(to, clock, async (importer) => {
        assert.equal(await importer.actor(first.actor), undefined);
        await lost.comesTo(importer);
      });
      assert.deepEqual((await tells(to, clock)).actors, [first.whole, lost.whole, second.whole]);
    });

    it("existing data is reported; different data is refused and stays unchanged", async (to, clock) => {
      const actor = new Written("door/a", 5);
      const message = { message: messageTo("door/a", "m.1"), failures: 2 };
      const letter = { message: messageTo("door/a", "m.2"), why: "w", at: 1 };
      const come = async (importer: Importer): Promise<void> => {
        await actor.comesTo(importer);
        await importer.message(message);
        await importer.letter(letter);
      };
      await takes(to, clock, come);
      const before = await tells(to, clock);
      await takes(to, clock, async (importer) => {
        assert.equal(await importer.actor(actor.actor), undefined);
        assert.equal(await importer.message(message), false);
        assert.equal(await importer.letter(letter), false);
        // An actor that has ended here meanwhile gets no messages.
        assert.equal(await importer.message({ ...letter, failures: 0 }), false);
        await assert.rejects(importer.actor(new Written("door/a", 4).actor), conflict);
        await assert.rejects(importer.actor(new Written("door/a", 6).actor), conflict);
        await assert.rejects(importer.actor(new Written("door/b", 1, { uid: actor.actor.row.uid }).actor), conflict);
        await assert.rejects(importer.message({ ...message, message: messageTo("door/a", "m.1", { args: 1 }) }), conflict);
        await assert.rejects(importer.letter({ ...letter, message: messageTo("door/a", "m.2", { args: 1 }) }), conflict);
      });
      assert.deepEqual(await tells(to, clock), before);
    });
  });
}
