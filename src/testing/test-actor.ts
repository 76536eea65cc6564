// Owns: one actor run without an engine, for authors' tests. Does not own: running a turn (core/actor), planning it (core/chain).
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Base,
  begin,
  entryOf,
  eventOf,
  faults,
  kindFrom,
  mayStart,
  OK_NULL,
  pastOf,
  type Plan,
  planTurn,
  received,
  rolesByKind,
  storedViewer,
} from "../core/chain/internal.ts";
import {
  checkOptions,
  type OptionTable,
  FUNCTION,
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Context,
  type Json,
  type Message,
  type Outgoing,
  type Reply,
  type Row,
  type Surface,
  type Turn,
  type Viewer,
  type Wake,
  type Work,
} from "../core/contract/index.ts";
import { twice } from "./purity.ts";
import { finite } from "./simulated-clock.ts";

/** Options of `testActor`. */
export interface TestActorOptions<S> {
  /** Decoded. Default `main`. */
  readonly key?: string;
  /** The caller. Default: anonymous. */
  readonly viewer?: Viewer;
  /** Default: the kind's initial state. It is frozen, as all states are. */
  readonly state?: S;
  /** What `initial` gets as its `args`. */
  readonly start?: Json;
  /** The time of the first message, in milliseconds since 1970; each message comes a second after the one before. Default 2024-01-01. */
  readonly at?: number;
  /** Replies to what work calls. Default: a refusal with the code `UNKNOWN`. */
  readonly call?: (message: Outgoing) => Reply | Promise<Reply>;
}

const OPTIONS: OptionTable<TestActorOptions<unknown>> = { key: true, viewer: true, state: true, start: true, at: true, call: FUNCTION };

/** What a message has beyond its action and arguments. */
export type MessageParts = Partial<Omit<Message, "viewer">> & { readonly viewer?: Viewer };

/**
 * One actor without an engine: its turns are applied in memory as an engine would, and the messages it sends are collected. Throws what
 * the author's code throws, and what an engine refuses: a state that is not JSON, or too large, and a message to an actor that has
 * stopped, unless it starts the actor anew.
 */
export interface TestActor<S> {
  readonly id: ActorId;
  readonly state: S;
  /** All messages sent so far. */
  readonly sent: readonly Outgoing[];
  /** The timers that are set, by name. */
  readonly timers: Readonly<Record<string, Wake>>;
  readonly emitted: readonly Json[];
  /** Replies to messages whose turn returned `later()`, by message id. */
  readonly answered: Readonly<Record<string, Reply>>;
  /** The reason why it stopped. Undefined: it has not, or it was started anew. */
  readonly stopped: string | undefined;
  /** Applies the turn of one message, which is run twice and compared (law 4). Throws if it is work: use `await work(…)`. */
  turn(action: string, args?: Json, more?: MessageParts): Turn<S>;
  /** Applies the turn that work ends in, or a pure turn. Work begins when the work before it has ended. */
  work(action: string, args?: Json, more?: MessageParts): Promise<Turn<S>>;
  /** Applies the turn of the reply to a message that it sent by `forward()` or `request()`, with `replyAs`, or that `settled()` waits for. */
  reply(message: Outgoing | undefined, reply: Reply): Turn<S>;
  view(action: string, args?: Json, viewer?: Viewer): Reply;
  surface(viewer?: Viewer): Surface | undefined;
}

const NEW_YEAR_2024 = 1_704_067_200_000;
const SECOND_MS = 1_000;
const LIFE = "test-actor";
const ANONYMOUS: Viewer = { scopes: [] };
/** The reply is the turn's own, also if a `replyAs` requests it. */
const CIRCUMSTANCES = { born: false, keyMs: 0, answersElsewhere: true, parentKnows: false, whole: false } as const;

/**
 * Runs one actor without an engine. Deterministic: the same calls give the same states, ids and random numbers.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { testActor } from "troupe/testing";
 * import * as z from "zod";
 *
 * const door = actor("door", {
 *   description: "A door.",
 *   state: z.object({ open: z.boolean().default(false) }),
 *   tools: {
 *     open: {
 *       description: "Open it.",
 *       enabled: ({ state }) => !state.open || "It is already open.",
 *       run({ state }) {
 *         state.open = true;
 *         return "It creaks open.";
 *       },
 *     },
 *   },
 * });
 * const tested = testActor(door);
 * tested.turn("tools/open");
 * console.log(tested.state.open); // true
 * ```
 */
export function testActor<S>(behaviour: Behaviour<S>, options: TestActorOptions<S> = {}): TestActor<S> {
  checkOptions("testActor", options, OPTIONS);
  const pure = twice(behaviour);
  const kind = kindFrom(pure);
  const key = options.key ?? "main";
  const id: ActorId = `${behaviour.kind}/${encodeURIComponent(key)}`;
  const sent: Outgoing[] = [];
  const ids = new Map<Outgoing, string>();
  const emitted: Json[] = [];
  const answered: Record<string, Reply> = {};
  /** An actor in memory has none. */
  const chain: ChainEvent[] = [];
  let seq = 0;
  let life = LIFE;
  let stopped: string | undefined;
  let count = 0;

  const startAt = finite(options.at ?? NEW_YEAR_2024);
  const timeOf = (messages: number): number => startAt + messages * SECOND_MS;
  const envelope = (action: string, args: Json, more: MessageParts): Message => {
    count += 1;
    const at = timeOf(count - 1);
    const seed = (count * 0x9e3779b1).toString(16).padStart(32, "0").slice(-32);
    const caller: Viewer = more.viewer ?? options.viewer ?? ANONYMOUS;
    const viewer = storedViewer(caller, caller.claims === undefined ? undefined : rolesByKind([behaviour], caller));
    return { id: `${LIFE}.${count}`, to: id, action, args, at, seed, ...more, viewer };
  };
  const parent = (): string | null => chain.at(-1)?.id ?? null;
  const started = (first: Message, from = pure.initial(key, first)): { readonly state: S; readonly base: Base } => {
    const begun: Base = { ...begin(kindFrom({ ...pure, initial: () => from }), id, first), life };
    seq += 1;
    if (begun.extra.policy.persistence !== "memory") {
      const parts = { message: first, life, seq, state: begun.state, patch: undefined, sent: [], reply: OK_NULL, record: undefined };
      chain.push(eventOf(kind, parts, parent(), true));
    }
    return { state: from, base: begun };
  };
  let { state, base } = started(envelope("start", null, { start: options.start ?? null }), options.state);

  /** Undefined: the life that the last message began has a turn. */
  let endAgain: (() => void) | undefined;
  /** A message that is refused, or throws, begins no life (C3). */
  const orEndAgain = <T>(run: () => T): T => {
    try {
      return run();
    } catch (error) {
      endAgain?.();
      throw error;
    }
  };
  const effectOf = (message: Message): Turn<S> | Work<S> =>
    orEndAgain(() => {
      if (stopped !== undefined) {
        if (!mayStart(kind, message)) throw faults.stopped(id);
        const before = { state, base, life, seq, stopped };
        const { length } = chain;
        endAgain = () => {
          ({ state, base, life, seq, stopped } = before);
          chain.length = length;
          endAgain = undefined;
        };
        life = `${LIFE}-${count}`;
        ({ state, base } = started({ ...message, action: "start" }));
        stopped = undefined;
      }
      return received(pure, state, base, message, seq + 1);
    });
  /** Its timers, each with the event that set it. */
  const recorded = (plan: Plan): Row["wakes"] => {
    const { at } = plan.message;
    const position = { parent: parent(), full: false, messageCount: plan.seq, lastMessageAt: at, consumed: undefined };
    const { event, row } = entryOf(kind, plan, position, at);
    chain.push(event);
    return row.wakes;
  };
  const apply = (message: Message, given: Turn<S>): Turn<S> => orEndAgain(() => applied(message, given));
  const applied = (message: Message, given: Turn<S>): Turn<S> => {
    const plan = planTurn(base, { message, key: undefined, wake: undefined }, given, { id, seq: seq + 1, ...CIRCUMSTANCES });
    // The hint is for engines: authors compare what a turn does with data.
    const { dirty: _dirty, ...turn } = given;
    const { reply = OK_NULL } = turn;
    if (reply !== "later" && !("ok" in reply)) {
      endAgain?.();
      return turn;
    }
    endAgain = undefined;
    if (plan !== undefined) {
      if (turn.state !== undefined && plan.state === turn.state) ({ state } = turn);
      base = chain.length === 0 ? plan : { ...plan, extra: { ...plan.extra, wakes: recorded(plan) } };
      ({ seq } = plan);
      stopped = plan.stop ?? stopped;
    }
    for (const [index, outgoing] of (turn.send ?? []).entries()) ids.set(outgoing, plan?.sent[index] ?? "");
    sent.push(...(turn.send ?? []));
    emitted.push(...(turn.emit ?? []));
    // A caller gets one reply: of a second one, engines drop the answer.
    Object.assign(answered, { ...turn.answer, ...Object.fromEntries(plan?.answers ?? []), ...answered });
    return turn;
  };
  // As an actor does: one message at a time, work included (C1).
  let atWork = 0;
  let last: Promise<unknown> = Promise.resolve();
  const working = new AsyncLocalStorage<{ isOver: boolean }>();
  const context: Context = {
    signal: new AbortController().signal,
    call: async (message) =>
      options.call?.(message) ?? {
        refused: { code: "UNKNOWN", message: "This test has no reply for what work calls: pass `call` to `testActor`." },
      },
    progress: () => undefined,
    log: () => undefined,
  };

  const run = (action: string, args: Json = {}, more: Partial<Message> = {}): Turn<S> => {
    if (atWork > 0)
      throw new Error(
        `${action} cannot run while the actor is at work: it handles one message at a time. Await what work() returned first.`,
      );
    const message = envelope(action, args, more);
    const effect = effectOf(message);
    if (typeof effect === "function") throw new Error(`${action} is work: use \`await work(…)\`.`);
    return apply(message, effect);
  };

  const work = async (action: string, args: Json, more: MessageParts): Promise<Turn<S>> => {
    const own = { isOver: false };
    try {
      const message = envelope(action, args, more);
      const effect = effectOf(message);
      if (typeof effect !== "function") return apply(message, effect);
      const history = async function* (afterSeq: number): AsyncGenerator<ChainEvent> {
        yield* chain.slice(afterSeq);
      };
      const past = chain.length === 0 ? undefined : pastOf({ kind, life, seq, extra: base.extra, history });
      const turn = await working.run(own, () => effect({ ...context, past }));
      return apply(message, turn);
    } catch (error) {
      endAgain?.();
      throw error;
    } finally {
      own.isOver = true;
      atWork -= 1;
    }
  };

  return {
    id,
    sent,
    emitted,
    answered,
    get timers() {
      // Without what an engine stores with them for itself.
      return Object.fromEntries(
        Object.entries(base.extra.wakes).map(([name, { cause: _cause, rang: _rang, ...wake }]): [string, Wake] => [name, wake]),
      );
    },
    get state() {
      return state;
    },
    get stopped() {
      return stopped;
    },
    turn: run,
    reply(message, reply) {
      if (message?.replyAs === undefined) throw new Error("Pass a message of `sent` that forward() or request() sent.");
      const { to, replyAs, replyContext } = message;
      const args = { of: ids.get(message) ?? "", to, reply, ...(replyContext !== undefined && { context: replyContext }) };
      return run(replyAs, args, { from: to });
    },
    work(action, args = {}, more = {}) {
      // It would wait for the work that waits for it.
      if (working.getStore()?.isOver === false) return Promise.reject(faults.cycle(id, id));
      atWork += 1;
      const turn = atWork === 1 ? work(action, args, more) : last.then(() => work(action, args, more));
      last = turn.catch(() => undefined);
      return turn;
    },
    view: (action, args = {}, viewer = options.viewer ?? ANONYMOUS) =>
      behaviour.view?.(state, action, args, viewer, id, timeOf(count)) ?? {
        refused: { code: "UNKNOWN", message: `${behaviour.kind} has no views.` },
      },
    surface: (viewer = options.viewer ?? ANONYMOUS) => behaviour.surface?.(state, viewer),
  };
}
