/** Messages that were told "later": who waits for their replies. */
import {
  type ActorId,
  type Bag,
  isBag,
  type Json,
  type Outgoing,
  type Remembered,
  type Reply,
  type Step,
  type Turn,
} from "../contract/index.ts";
import { hasOwn, isAddress } from "../contract/internal.ts";
import { answerTo } from "./answer.ts";
import { checkReply, checkSteps } from "./checked-turn.ts";
import { mailboxFull } from "./faults.ts";
import type { Base, CallKey, Circumstances, Incoming } from "./turn.ts";

const NOTHING: readonly never[] = [];

/** The replies a turn gives to such messages; to others, none is due. */
export function answersIn(given: NonNullable<Turn<unknown>["answer"]>, pending: Bag): readonly (readonly [id: string, reply: Reply])[] {
  const answers = Object.entries(given).filter(([id]) => Object.hasOwn(pending, id));
  for (const [id, answer] of answers) checkReply(answer, `answer["${id}"]`);
  return answers;
}

/** How far such messages are, before the turn or after it; of others nobody is told, whoever waits for them elsewhere. */
export function stepsIn(report: NonNullable<Turn<unknown>["report"]>, before: Bag, after: Bag): Readonly<Record<string, Step>> {
  checkSteps(report);
  return Object.fromEntries(Object.entries(report).filter(([id]) => Object.hasOwn(before, id) || Object.hasOwn(after, id)));
}

interface Settled {
  readonly pending: Bag;
  readonly answers: readonly (readonly [id: string, reply: Reply])[];
  readonly sends: readonly Outgoing[];
  readonly remembered: readonly Remembered[];
}

/** What "later" keeps per message, in the row: it survives the process. */
export function settlePending(
  base: Base,
  job: Incoming,
  reply: Reply | "later",
  answers: readonly (readonly [string, Reply])[],
  stop: string | undefined,
  { id, keyMs }: Circumstances,
): Settled {
  const until = job.message.at + keyMs;
  const before = base.extra.pending;
  const own = job.key !== undefined && reply !== "later" && hasOwn(reply, "ok") ? [{ ...job.key, reply, until }] : NOTHING;
  if (reply !== "later" && answers.length === 0 && stop === undefined) return { pending: before, answers, sends: NOTHING, remembered: own };
  const remembered: Remembered[] = [...own];
  const pending: Record<string, Json> = { ...before };
  const sends: Outgoing[] = [];
  const told: [string, Reply][] = [];
  const tell = (of: string, answer: Reply): void => {
    told.push([of, answer]);
    const kept = keptFor(pending[of]);
    if (kept.from !== undefined && kept.replyAs !== undefined) sends.push(answerTo(kept.from, kept.replyAs, id, of, answer));
    if (kept.key !== undefined) remembered.push({ key: kept.key, call: kept.call ?? "", reply: answer, until });
    delete pending[of];
  };
  for (const [of, answer] of answers) tell(of, answer);
  if (reply === "later") {
    const { message } = job;
    if (Object.keys(pending).length >= base.extra.policy.mailbox) throw mailboxFull(id);
    pending[message.id] = {
      ...job.key,
      ...(message.from === undefined || message.replyAs === undefined ? {} : { from: message.from, replyAs: message.replyAs }),
    };
  }
  if (stop !== undefined)
    for (const of of Object.keys(pending)) tell(of, { refused: { code: "ACTOR_STOPPED", message: `${id} has stopped: ${stop}` } });
  return { pending, answers: told, sends, remembered };
}

interface KeptFor extends Partial<CallKey> {
  readonly from?: ActorId;
  readonly replyAs?: string;
}

export function keptFor(kept: Json | undefined): KeptFor {
  if (!isBag(kept)) return {};
  const { key, call, from, replyAs } = kept;
  return {
    ...(typeof key === "string" ? { key } : {}),
    ...(typeof call === "string" ? { call } : {}),
    ...(isAddress(from) ? { from } : {}),
    ...(typeof replyAs === "string" ? { replyAs } : {}),
  };
}
