import assert from "node:assert/strict";
import type {
  ActorId,
  ChainEvent,
  Exporter,
  Importer,
  Json,
  KeyedCall,
  LeavingActor,
  DeadLetter,
  ExportedActor,
  Undelivered,
} from "../contract/index.ts";
import { StoreError } from "../contract/index.ts";
import { ChainWriter, type EntryOptions, messageTo } from "../../testing/conformance/index.ts";
import { DumpSum } from "./dump-lines.ts";
import { writeDump } from "./index.ts";

/** An exported actor. */
export interface Whole {
  readonly actor: ExportedActor;
  readonly events: readonly ChainEvent[];
  readonly calls: readonly KeyedCall[];
}

/** Everything in a store. */
export interface World {
  readonly actors: readonly Whole[];
  readonly undelivered: readonly Undelivered[];
  readonly letters: readonly DeadLetter[];
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

export const exporterOf = ({ actors, undelivered, letters }: World): Exporter => ({
  at: 5,
  actors: (kind) =>
    each(
      actors
        .filter(({ actor }) => kind === undefined || actor.id.startsWith(`${kind}/`))
        .map(({ actor, events, calls }): LeavingActor => ({ ...actor, events: () => each(events), calls: () => each(calls) })),
    ),
  undelivered: () => each(undelivered),
  letters: () => each(letters),
  [Symbol.asyncDispose]: async () => undefined,
});

/** An importer that collects what it gets. */
export class Collected implements Importer {
  actors: Whole[] = [];
  undelivered: Undelivered[] = [];
  letters: DeadLetter[] = [];
  states = new Map<ActorId, Json>();
  open = 0;
  flushed = 0;

  get world(): World {
    return { actors: this.actors, undelivered: this.undelivered, letters: this.letters };
  }

  async actor(actor: ExportedActor): ReturnType<Importer["actor"]> {
    assert.equal(this.open, 0, "one at a time");
    const there = this.actors.find((one) => one.actor.id === actor.id);
    if (there?.actor.head === actor.head) return undefined;
    if (there) throw new StoreError("STORE_CONFLICT", `${actor.id} is there already with another chain.`);
    const events: ChainEvent[] = [];
    const calls: KeyedCall[] = [];
    this.open += 1;
    return {
      event: async (event, full) => {
        assert.equal(full, event.body?.includes('"state":') ?? false);
        events.push(event);
      },
      call: async (call) => void calls.push(call),
      commit: async (state) => {
        this.open -= 1;
        this.states.set(actor.id, state);
        this.actors.push({ actor, events, calls });
      },
      abort: async () => {
        this.open -= 1;
      },
    };
  }

  async message(undelivered: Undelivered): Promise<boolean> {
    this.undelivered.push(undelivered);
    return true;
  }

  async letter(letter: DeadLetter): Promise<boolean> {
    this.letters.push(letter);
    return true;
  }

  async flush(): Promise<void> {
    assert.equal(this.open, 0, "between two actors");
    this.flushed += 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    assert.equal(this.open, 0, "nothing is left half way");
  }
}

/** An actor with these turns; the bodies of the first `erased` events are erased. */
export function actorOf(
  id: ActorId,
  turns: readonly EntryOptions[],
  more: { readonly erased?: number; readonly calls?: readonly KeyedCall[] } = {},
): Whole {
  const writer = new ChainWriter(id);
  const { life } = writer;
  const entries = turns.map((turn) => writer.next({ ...turn, row: { uid: life, ...turn.row } }));
  const last = entries.at(-1);
  assert.ok(last);
  const { erased = 0, calls = [] } = more;
  return {
    actor: { id, row: last.row, seq: last.seq, head: last.event.id },
    events: entries.map(({ event }, index) => (index < erased ? { id: event.id, header: event.header } : event)),
    calls,
  };
}

const turns = (count: number): readonly EntryOptions[] => Array.from({ length: count }, () => ({}));

/** Three actors (one with replies, one with erased bodies), two messages, one dead letter. */
export const world: World = {
  actors: [
    actorOf("a/%E2%98%83", turns(3), {
      calls: [
        { key: "ann\nk", call: "c", until: 9, reply: { ok: "☃" } },
        { key: "bob\nk", call: "c", until: 9 },
      ],
    }),
    actorOf("a-b/c", turns(20), { erased: 16 }),
    actorOf("door/a", [{ row: { wakes: { w: { at: 9, action: "tick" } }, pending: { m: { key: "k" } } } }]),
  ],
  undelivered: [
    { message: messageTo("door/a", "m.1"), failures: 2 },
    { message: messageTo("a/x", "m.2"), failures: 0 },
  ],
  letters: [{ message: messageTo("none/x", "m.0"), why: "NO_ACTOR", at: 7 }],
};

export async function linesFrom(from: World, kind?: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of writeDump(exporterOf(from), kind === undefined ? {} : { kind })) lines.push(line);
  return lines;
}

/** The lines with valid sums, as an attacker who knows the format would write them. */
export function resealed(lines: readonly string[]): readonly string[] {
  const sum = new DumpSum();
  return lines.map((line, index) => {
    const bare = line.replace(/,"sum":"[0-9a-f]{64}"\}$/u, "}");
    if (bare === line) {
      sum.plain(line);
      return line;
    }
    const sealed = sum.sealed(bare);
    if (index === 0) sum.begin();
    return sealed;
  });
}

export async function* chunksOf(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export const bytesOf = (lines: readonly string[]): Uint8Array => Buffer.from(lines.map((line) => `${line}\n`).join(""));
