/**
 * One kind of actor on something that makes its turns durable. No SDK here: a turn is
 * tested without a server.
 *
 * C1: whoever calls `turn` runs one at a time per actor, work included.
 * C2: nothing is told before `turn` ends, and its end is durable before the reply.
 * C3: a throw, a refusal or "needs" sets nothing.
 * Law 4: a turn may run many times before its end is durable; what is not pure comes
 * from the context.
 */
import {
  begin,
  entryOf,
  extraOf,
  faults,
  NOTHING_SINCE,
  sinceAfter,
  understand,
  atMostBytes,
  kindFrom,
  OK_NULL,
  planTurn,
  received,
  wantsFull,
  type Base,
  type Kind,
  type Plan,
} from "../chain/internal.ts";
import {
  EngineError,
  StoreError,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Message,
  type Snapshot,
  type Turn,
} from "../contract/index.ts";
import type { DurableContext, DurableReader } from "./durable-context.ts";
import { runWork, type WorkHost } from "./durable-work.ts";
import { ACTOR_KEY, readKept, readSegment, SEGMENT_EVENTS, segmentKey, type Kept } from "./kept.ts";
import { faultOf, type Guarded, type Outcome } from "./outcome.ts";

/** A base, and where in the chain its turn goes. */
interface Place {
  readonly base: Base;
  readonly born: boolean;
  /** Absent before the first life. */
  readonly kept: Kept | undefined;
  readonly stale: boolean;
}

export class DurableActor {
  readonly #kind: Kind;
  readonly #host: WorkHost;

  constructor(behaviour: Behaviour, host: WorkHost) {
    this.#kind = kindFrom(behaviour);
    this.#host = host;
  }

  /** Exclusive per actor. Ends in a value whatever the behaviour does; what it throws comes from the context and asks for another run. */
  async turn(context: DurableContext, message: Message): Promise<Outcome> {
    const of = message.id;
    const value = await context.get(ACTOR_KEY);
    const late = message.deadline !== undefined && message.deadline <= (await context.now());
    const entered = this.#guarded(message, value, () => {
      if (late) throw faults.deadline(message.to);
      const place = this.#place(message, readKept(value));
      const { base, kept } = place;
      return { place, effect: received(this.#kind, base.state, message, base.life, (kept?.seq ?? 0) + 1) };
    });
    if ("fault" in entered) return { of, fault: entered.fault };
    const { place, effect } = entered.value;
    let turn: Turn<unknown>;
    if (typeof effect === "function") {
      const planned = (done: Turn<unknown>): unknown => this.#plan(place, message, done);
      const guarded = <T>(step: () => T): Guarded<T> => this.#guarded(message, value, step);
      const worked = await runWork(context, this.#host, {
        work: effect,
        message,
        workMs: place.base.extra.policy.workMs,
        planned,
        guarded,
      });
      if ("fault" in worked) return { of, fault: worked.fault };
      turn = worked.value;
    } else turn = effect;
    const planned = this.#guarded(message, value, () => {
      const reply = turn.reply ?? OK_NULL;
      if (reply === "later") throw notCarried(message.to, "an answer that comes later");
      asText(reply);
      return { plan: this.#plan(place, message, turn), reply };
    });
    if ("fault" in planned) return { of, fault: planned.fault };
    const { plan, reply } = planned.value;
    if (plan === undefined) return { of, reply };
    // Journalled, so that another run sends the same.
    const now = plan.sends.length === 0 ? message.at : await context.now();
    const written = this.#guarded(message, value, () => this.#written(place, plan, now));
    if ("fault" in written) return { of, fault: written.fault };
    const { keys, out, committed } = written.value;
    for (const [name, kept] of keys) context.set(name, kept);
    for (const sent of out) context.send(sent);
    return { of, reply, committed };
  }

  /** Shared: beside a running turn, what that one began from (law 2). */
  async read(context: DurableReader, id: ActorId): Promise<Snapshot | undefined> {
    const kept = readKept(await context.get(ACTOR_KEY));
    if (kept === undefined) return undefined;
    const { row, state, seq, head } = kept;
    return { id, seq, head, status: row.status, state, ...(row.owner === undefined ? {} : { owner: row.owner }) };
  }

  /** Shared: in order, at least one event after `afterSeq` where there is one. For more, ask again after the last. */
  async events(context: DurableReader, afterSeq: number): Promise<readonly ChainEvent[]> {
    const kept = readKept(await context.get(ACTOR_KEY));
    if (kept === undefined || afterSeq >= kept.seq) return [];
    const sealed = kept.seq - kept.last.length;
    if (afterSeq >= sealed) return kept.last.slice(afterSeq - sealed);
    const segment = readSegment(await context.get(segmentKey(Math.floor(afterSeq / SEGMENT_EVENTS))));
    return segment.slice(afterSeq % SEGMENT_EVENTS);
  }

  /** C3: whatever the behaviour throws becomes a value that says nothing was applied. */
  #guarded<T>(message: Message, value: unknown, step: () => T): Guarded<T> {
    try {
      return { value: step() };
    } catch (error) {
      if (error instanceof EngineError) return { fault: faultOf(error) };
      if (error instanceof StoreError) return { fault: faultOf(faults.fromStore(error)) };
      this.#host.fault(error, message);
      return { fault: faultOf(faults.crashed(message.to, (readKept(value)?.seq ?? 0) + 1, error)) };
    }
  }

  #place(message: Message, kept: Kept | undefined): Place {
    const { to } = message;
    if (kept === undefined || kept.row.status === "stopped") {
      if (message.start === undefined) throw kept === undefined ? faults.noActor(to) : faults.stopped(to);
      return {
        base: begin(
          this.#kind,
          to,
          message,
          kept === undefined ? undefined : { uid: kept.row.uid, ...(kept.row.muted && { muted: true }) },
        ),
        born: true,
        kept,
        stale: false,
      };
    }
    const { row, state, bytes } = kept;
    if (row.owner !== undefined && message.viewer !== undefined && message.viewer.principal !== row.owner) throw faults.noActor(to);
    const understood = understand(this.#kind, to, { state, version: row.version });
    if (understood.failure) throw understood.failure;
    const { stale } = understood;
    const { life, createdAt } = row;
    const base: Base = {
      state: understood.state,
      bytes: stale ? atMostBytes(understood.state) : bytes,
      life,
      createdAt,
      extra: extraOf(this.#kind, row),
    };
    return { base, born: false, kept, stale };
  }

  #plan({ base, born, kept }: Place, message: Message, turn: Turn<unknown>): Plan | undefined {
    const plan = planTurn(
      base,
      // C4: keyed replies are kept by whoever made the call durable.
      { message, key: undefined, wake: undefined },
      turn,
      { id: message.to, seq: (kept?.seq ?? 0) + 1, born, keyMs: 0, answersElsewhere: false, parentKnows: false },
    );
    if (plan !== undefined && plan.stop === undefined && plan.timed) throw notCarried(message.to, "wakes and expiry");
    return plan;
  }

  /** One state key, and a segment every `SEGMENT_EVENTS` turns. */
  #written({ born, kept, stale }: Place, plan: Plan, now: number): Written {
    const since = kept?.since ?? NOTHING_SINCE;
    const full = born || stale || wantsFull(since);
    const messageCount = born ? 1 : (kept?.row.messageCount ?? 0) + 1;
    const lastMessageAt = Math.max(kept?.row.lastMessageAt ?? 0, plan.message.at);
    const place = { parent: kept?.head ?? null, full, messageCount, lastMessageAt, consumed: undefined };
    const entry = entryOf(this.#kind, plan, place, now);
    const { event, seq, row, out } = entry;
    const keys: [string, unknown][] = [];
    let last = kept?.last ?? [];
    if (last.length === SEGMENT_EVENTS) {
      keys.push([segmentKey((seq - 1) / SEGMENT_EVENTS - 1), last]);
      last = [];
    }
    const next: Kept = {
      row,
      state: plan.state,
      bytes: plan.bytes,
      seq,
      head: event.id,
      since: sinceAfter(since, entry),
      last: [...last, event],
    };
    keys.push([ACTOR_KEY, next]);
    asText(out);
    return { keys, out, committed: { seq, head: event.id } };
  }
}

/** What a turn leaves, ready to be set and sent: from here on nothing throws. */
interface Written {
  readonly keys: readonly (readonly [name: string, value: unknown])[];
  readonly out: readonly Message[];
  readonly committed: { readonly seq: number; readonly head: string };
}

/** Throws where it has no text: once it is with the context, that would ask for another run, for ever. */
const asText = (value: unknown): string => JSON.stringify(value);

const notCarried = (id: ActorId, what: string): EngineError =>
  new EngineError("NOT_APPLIED", `${id} asked for ${what}, which this engine does not carry yet: serve its kind with the local engine.`);
