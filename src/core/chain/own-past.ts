// Owns: an actor's own past turns and earlier states, for its work. Does not own: reading events from a store (engines), undoing
// (core/actor/undo.ts).
import {
  type Body,
  type ChainEvent,
  type Header,
  type Json,
  type Past,
  type PastTurn,
  type Reply,
  StoreError,
  type Turn,
} from "../contract/index.ts";
import { checkWholeNumber, getOwn } from "../contract/internal.ts";
import { isRedacted, lacksSecret, withoutPassedOn } from "./redaction.ts";
import { readBody, readHeader } from "./event.ts";
import { check, freezeNew } from "./json-check.ts";
import type { Extra, Kind } from "./kind.ts";
import { keyOf } from "./messages.ts";
import { apply } from "./patch.ts";
import { isEngines, isMessage } from "./reexecute.ts";
import { stateAt, type VersionedState } from "./replay.ts";
import { received } from "./turn.ts";

/** At most 256 events come after a whole state. If another program wrote more, twice as many are read next. */
const PIECE = 512;

export interface PastHost {
  readonly kind: Kind;
  readonly life: string;
  /** The number of the last event. */
  readonly seq: number;
  readonly extra: Extra;
  /** The events after that number. */
  history(afterSeq: number): AsyncIterable<ChainEvent>;
}

/** The past of an actor of which work runs. */
export function pastOf(host: PastHost): Past {
  const { kind, life, seq: last } = host;
  return {
    async turns(limit) {
      checkWholeNumber("limit", limit);
      const events = await collected(host.history(Math.max(0, last - limit)), limit);
      const turns: PastTurn[] = [];
      for (const event of events.toReversed()) {
        const header = readHeader(event);
        const body = readBody(event);
        if (header.life !== life || body === undefined) break;
        if (isEngines(header, body)) {
          // It changes no state.
          if (header.type === "checkpoint") continue;
          break;
        }
        const { message, patch, state, sent, reply, record, version } = body;
        if (!isMessage(message) || version !== kind.behaviour.version) break;
        const { viewer, args } = message;
        turns.push({
          seq: header.seq,
          action: header.type,
          at: header.at,
          ...(viewer === undefined ? {} : { viewer }),
          args: isRedacted(args) ? undefined : args,
          record,
          reply,
          changed: patch !== undefined || state !== undefined,
          sent: sent.length > 0,
          timed: Object.values(host.extra.wakes).some(({ cause }) => cause === event.id),
        });
      }
      return turns;
    },
    async answerTo(seq) {
      const [call, ...later] = await collected(host.history(seq - 1), last - seq + 1);
      const message: unknown = call && readBody(call)?.message;
      if (!isMessage(message)) return undefined;
      if (Object.hasOwn(host.extra.pending, message.id)) return "later";
      return answerIn(host, message.id, later, (await earlierState(host, seq))?.state);
    },
    async again(seq) {
      const [[event], before] = [await collected(host.history(seq - 1), 1), await stateBefore(host, seq)];
      const body = event && readBody(event);
      return event && body && before !== undefined ? runAgain(host, before, readHeader(event), body) : undefined;
    },
    stateBefore: (seq) => stateBefore(host, seq),
  };
}

async function stateBefore(host: PastHost, seq: number): Promise<Json | undefined> {
  const { kind, life } = host;
  const [event, earlier] = (await collected(host.history(Math.max(0, seq - 2)), Math.min(seq, 2))).toReversed();
  if (event === undefined) return undefined;
  if (earlier === undefined || readHeader(earlier).life !== life) return firstState(kind, event);
  const before = await earlierState(host, seq - 1);
  return before?.version === kind.behaviour.version ? freezeNew(undefined, before.state) : undefined;
}

/** Events do not store what their turns answered, but a pure turn that runs again answers the same (law 4). */
function answerIn(host: PastHost, id: string, events: readonly ChainEvent[], before: Json | undefined): Reply | undefined {
  let state = before && freezeNew(undefined, before);
  for (const event of events) {
    const header = readHeader(event);
    const body = readBody(event);
    if (state === undefined || body === undefined || header.life !== host.life) return undefined;
    const answer = getOwn(runAgain(host, state, header, body)?.answer, id);
    if (answer !== undefined) return answer;
    state = freezeNew(state, body.state ?? (body.patch === undefined ? state : apply(state, body.patch)));
  }
  return undefined;
}

function runAgain({ kind, extra }: PastHost, state: Json, header: Header, body: Body): Turn<unknown> | undefined {
  const { version } = body;
  if (!isMessage(body.message) || isEngines(header, body) || version !== kind.behaviour.version) return undefined;
  const message = withoutPassedOn(body.message);
  if (lacksSecret(message)) return undefined;
  try {
    const turn = received(kind.behaviour, state, { life: header.life, extra }, message, header.seq);
    return typeof turn === "function" ? undefined : turn;
  } catch {
    // The code has changed since, or the turn reads a secret.
    return undefined;
  }
}

async function collected(events: AsyncIterable<ChainEvent>, most: number): Promise<readonly ChainEvent[]> {
  const all: ChainEvent[] = [];
  for await (const event of events) {
    all.push(event);
    if (all.length === most) break;
  }
  return all;
}

/** The state that a life began with. Undefined: its first message is not stored in full. */
function firstState({ behaviour }: Kind, event: ChainEvent): Json | undefined {
  const message: unknown = readBody(event)?.message;
  if (!isMessage(message) || isRedacted(message.args) || isRedacted(message.start ?? null)) return undefined;
  const state: unknown = behaviour.initial(keyOf(message.to), message);
  check(state);
  return freezeNew(undefined, state);
}

/** Undefined: bodies that it needs were erased. */
async function earlierState(host: PastHost, seq: number): Promise<VersionedState | undefined> {
  for (let piece = PIECE; ; piece *= 2) {
    const after = Math.max(0, seq - piece);
    const events = await collected(host.history(after), seq - after);
    try {
      return stateAt(events, seq);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (after === 0) return undefined;
    }
  }
}
