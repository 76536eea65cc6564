// Owns: an actor's own past turns and earlier states, for its work. Does not own: reading events from a store (engines), undoing
// (core/actor/undo.ts).
import { type ChainEvent, type Json, type Past, type PastTurn, type Row, StoreError } from "../contract/index.ts";
import { isRedacted } from "./redaction.ts";
import { readBody, readHeader } from "./event.ts";
import { check, freezeNew } from "./json-check.ts";
import type { Kind } from "./kind.ts";
import { keyOf } from "./messages.ts";
import { isEngines, isMessage } from "./reexecute.ts";
import { stateAt, type VersionedState } from "./replay.ts";

/** At most 256 events come after a whole state. If another program wrote more, twice as many are read next. */
const PIECE = 512;

export interface PastHost {
  readonly kind: Kind;
  readonly life: string;
  /** The number of the last event. */
  readonly seq: number;
  readonly wakes: Row["wakes"];
  /** The events after that number. */
  history(afterSeq: number): AsyncIterable<ChainEvent>;
}

/** The past of an actor of which work runs. */
export function pastOf(host: PastHost): Past {
  const { kind, life, seq: last } = host;
  return {
    async turns(limit) {
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
        const { message, sent, reply, record, version } = body;
        if (!isMessage(message) || version !== kind.behaviour.version) break;
        const { viewer, args } = message;
        turns.push({
          seq: header.seq,
          action: header.type,
          at: header.at,
          ...(viewer === undefined ? {} : { viewer }),
          args: isRedacted(args) ? undefined : args,
          record,
          sent: sent.length > 0 || reply === "later",
          timed: Object.values(host.wakes).some(({ cause }) => cause === event.id),
        });
      }
      return turns;
    },
    async stateBefore(seq) {
      const [event, earlier] = (await collected(host.history(Math.max(0, seq - 2)), Math.min(seq, 2))).toReversed();
      if (event === undefined) return undefined;
      if (earlier === undefined || readHeader(earlier).life !== life) return firstState(kind, event);
      const before = await earlierState(host, seq - 1);
      return before?.version === kind.behaviour.version ? freezeNew(undefined, before.state) : undefined;
    },
  };
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
