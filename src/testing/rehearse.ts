import { type Base, begin, kindFrom, OK_NULL, planTurn, received } from "../core/chain/internal.ts";
import type {
  ActorId,
  Behaviour,
  Context,
  Json,
  Message,
  Outgoing,
  Reply,
  Surface,
  Turn,
  Viewer,
  Wake,
  Work,
} from "../core/contract/index.ts";
import { twice } from "./purity.ts";

export interface RehearsalOptions<S> {
  /** Decoded. Default `main`. */
  readonly key?: string;
  /** Default: nobody in particular. */
  readonly viewer?: Viewer;
  /** Default: the behaviour's own beginning. It is frozen, as states are. */
  readonly state?: S;
  readonly start?: Json;
  /** Of the first message, ms since 1970; each message comes a second later. Default 2024-01-01. */
  readonly at?: number;
  /** Answers what work calls. Default: refused `UNKNOWN`. */
  readonly call?: (message: Outgoing) => Reply | Promise<Reply>;
}

/**
 * One actor on a stage of its own: its turns applied in memory as an engine would, what it sends collected. What an engine
 * refuses is thrown: a state that is no JSON, or too large. For authors' tests.
 */
export interface Rehearsal<S> {
  readonly id: ActorId;
  readonly state: S;
  /** All that was sent so far. */
  readonly sent: readonly Outgoing[];
  readonly wakes: Readonly<Record<string, Wake>>;
  readonly emitted: readonly Json[];
  readonly answered: Readonly<Record<string, Reply>>;
  readonly stopped: string | undefined;
  /** The turn of one message, run twice and compared (law 4), applied. Throws where it is work: `await work(…)`. */
  turn(action: string, args?: Json, more?: Partial<Message>): Turn<S>;
  /** The turn work ended in, applied. A pure turn is fine here too. */
  work(action: string, args?: Json, more?: Partial<Message>): Promise<Turn<S>>;
  view(action: string, args?: Json, viewer?: Viewer): Reply;
  surface(viewer?: Viewer): Surface | undefined;
}

const NEW_YEAR_2024 = 1_704_067_200_000;
const A_SECOND_MS = 1_000;
const LIFE = "rehearsal";
const NOBODY: Viewer = { scopes: [] };
/** The reply is the turn's own, whoever asked for it with `replyAs`. */
const CIRCUMSTANCES = { born: false, keyMs: 0, answersElsewhere: true, parentKnows: false, whole: true } as const;

/** Puts one actor on a stage. Deterministic: the same calls give the same states, ids and dice. */
export function rehearse<S>(behaviour: Behaviour<S>, options: RehearsalOptions<S> = {}): Rehearsal<S> {
  const pure = twice(behaviour);
  const key = options.key ?? "main";
  const id: ActorId = `${behaviour.kind}/${encodeURIComponent(key)}`;
  const sent: Outgoing[] = [];
  const emitted: Json[] = [];
  const answered: Record<string, Reply> = {};
  let stopped: string | undefined;
  let count = 0;

  const timeOf = (messages: number): number => (options.at ?? NEW_YEAR_2024) + messages * A_SECOND_MS;
  const envelope = (action: string, args: Json, more: Partial<Message>): Message => {
    count += 1;
    const at = timeOf(count - 1);
    const seed = (count * 0x9e3779b1).toString(16).padStart(32, "0").slice(-32);
    return { id: `${LIFE}.${count}`, to: id, action, args, at, seed, viewer: options.viewer ?? NOBODY, ...more };
  };
  const first = envelope("start", null, { start: options.start ?? null });
  let state = options.state ?? pure.initial(key, first);
  let base: Base = { ...begin(kindFrom({ ...pure, initial: () => state }), id, first), life: LIFE };

  const effectOf = (message: Message): Turn<S> | Work<S> => received(pure, state, base, message, count);
  const apply = (message: Message, given: Turn<S>): Turn<S> => {
    const plan = planTurn(base, { message, key: undefined, wake: undefined }, given, { id, seq: count, ...CIRCUMSTANCES });
    // The hint is for engines: authors compare what a turn does with data.
    const { dirty: _dirty, ...turn } = given;
    const { reply = OK_NULL } = turn;
    if (reply !== "later" && !("ok" in reply)) return turn;
    if (plan !== undefined) {
      if (turn.state !== undefined && plan.state === turn.state) ({ state } = turn);
      base = plan;
      stopped = plan.stop ?? stopped;
    }
    sent.push(...(turn.send ?? []));
    emitted.push(...(turn.emit ?? []));
    Object.assign(answered, turn.answer);
    return turn;
  };
  const context: Context = {
    signal: new AbortController().signal,
    call: async (message) =>
      options.call?.(message) ?? { refused: { code: "UNKNOWN", message: "Nobody answers at this rehearsal: pass `call`." } },
    progress: () => undefined,
    log: () => undefined,
  };

  return {
    id,
    sent,
    emitted,
    answered,
    get wakes() {
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
    turn(action, args = {}, more = {}) {
      const message = envelope(action, args, more);
      const effect = effectOf(message);
      if (typeof effect === "function") throw new Error(`${action} is work: use \`await work(…)\`.`);
      return apply(message, effect);
    },
    async work(action, args = {}, more = {}) {
      const message = envelope(action, args, more);
      const effect = effectOf(message);
      return apply(message, typeof effect === "function" ? await effect(context) : effect);
    },
    view: (action, args = {}, viewer = options.viewer ?? NOBODY) =>
      behaviour.view?.(state, action, args, viewer, id, timeOf(count)) ?? {
        refused: { code: "UNKNOWN", message: `${behaviour.kind} shows nothing.` },
      },
    surface: (viewer = options.viewer ?? NOBODY) => behaviour.surface?.(state, viewer),
  };
}
