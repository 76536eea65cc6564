// Owns: delivery of what turns and timers send to an actor: retries, dead letters, expiry. Does not own: the turn itself
// (durable-actor.ts).
//
// C5: a failed message is retried while the key is held, so that no later message overtakes it. After three failures it becomes a dead
// letter. A message to a missing actor is sent again later instead, since holding the key would prevent the actor from being started;
// if the sender wants a reply, it is refused at once.
import { answerMessage, faults, finalRefusal, unhandledMessage, ownId } from "../../core/chain/internal.ts";
import { sha256 } from "../../core/chain/index.ts";
import { EngineError, type ActorId, type EngineCode, type Message, type Reply, type StoreCode } from "../../core/contract/index.ts";
import { toDeadLetters, sendMessage } from "./commit.ts";
import type { DurableActor } from "./durable-actor.ts";
import { type DurableContext, InvocationCancelled, uncancellable, type NodeHost } from "./durable-context.ts";
import type { ExpireInput, TimerInput, TurnInput } from "./handler-inputs.ts";
import { errorFrom, type Fault } from "./outcome.ts";
import { DELIVERY_ATTEMPTS, hasOwn } from "../../core/contract/internal.ts";

/** A timer that its actor cannot handle now is retried after this. */
const POSTPONE_MS = 60_000;
/** New code helps, so the timer waits for it. */
const POSTPONED: ReadonlySet<EngineCode | StoreCode> = new Set(["ACTOR_FAILED", "STATE_NEWER"]);
const MISSING: ReadonlySet<EngineCode | StoreCode> = new Set(["NO_ACTOR", "ACTOR_STOPPED"]);
const NOT_RUNNING: ReadonlySet<EngineCode | StoreCode> = new Set(["NO_ACTOR", "ACTOR_STOPPED", "ACTOR_FAILED"]);

export async function deliver(actor: DurableActor, context: DurableContext, host: NodeHost, input: TurnInput): Promise<void> {
  const { message } = input;
  let { failures = 0 } = input;
  for (;;) {
    const { outcome, answered } = await actor.run(context, { message }, { key: undefined, wake: undefined, isSent: true });
    if (!hasOwn(outcome, "fault")) {
      reportIfUnhandled(host, message, outcome.reply);
      if (!answered && outcome.reply !== undefined) answer(context, host, message, outcome.reply);
      return;
    }
    const { fault } = outcome;
    const final = finalRefusal(message, errorFrom(fault));
    if (final !== undefined) return answer(context, host, message, final);
    if (MISSING.has(fault.code) && actor.kind.behaviour.lapses?.(message) === true) return;
    if (!isTemporary(fault)) failures += 1;
    if (failures >= DELIVERY_ATTEMPTS) {
      return toDeadLetters(context, host, message, errorFrom(fault), fault.thrown);
    }
    const afterMs = host.retryMs * 4 ** Math.max(0, failures - 1);
    // It was cancelled because the actor is being stopped, so it must release the key too.
    if (NOT_RUNNING.has(fault.code) || fault.code === "CANCELLED") {
      const again: TurnInput = { message, failures };
      return context.send(host.names.actor(message.to, "deliver"), host.sealerFor(actor.kind.name).seal(again), afterMs);
    }
    await context.sleep(afterMs).catch(ignoreCancellation);
  }
}

export async function fireTimer(
  actor: DurableActor,
  context: DurableContext,
  host: NodeHost,
  input: TimerInput,
  id: ActorId,
): Promise<void> {
  const again = (afterMs: number, more: Partial<TimerInput> = {}): void =>
    context.send(host.names.actor(id, "ring"), { ...input, ...more }, afterMs);
  const { done: result, againAfterMs, message } = await actor.fireTimer(context, input, id);
  if (againAfterMs !== undefined) return again(againAfterMs);
  if (result === undefined) return;
  if (!("fault" in result.outcome)) {
    if (message !== undefined) reportIfUnhandled(host, message, result.outcome.reply);
    return;
  }
  const { fault } = result.outcome;
  // What failed before does not count against the new code.
  if (POSTPONED.has(fault.code)) return again(POSTPONE_MS, { failures: 0 });
  if (isTemporary(fault)) return again(host.retryMs / 2);
  const failures = input.failures + 1;
  // C5 for timers: after three failures the timer is dropped, and an event records that.
  if (failures < DELIVERY_ATTEMPTS) again(host.retryMs * 4 ** input.failures, { failures });
  else if (input.dropped === undefined) again(0, { failures, dropped: `${fault.code}: ${fault.message}` });
  // That event could not be written. Without a retry the timer would be set for ever and never fire.
  else again(POSTPONE_MS);
}

export async function expire(actor: DurableActor, context: DurableContext, host: NodeHost, input: ExpireInput, id: ActorId): Promise<void> {
  const afterMs = await uncancellable(() => actor.expiresAfter(context, input));
  if (afterMs === undefined) return;
  if (afterMs > 0) return context.send(host.names.actor(id, "expire"), input, afterMs);
  const at = Number(await uncancellable(() => context.run("now", async () => host.now())));
  const reason = "expired";
  const seed = sha256(`${input.life} ${at}`).slice(0, 32);
  await actor.stop(context, { message: { id: ownId(seed), to: id, action: "stop", args: { reason }, at, seed }, reason, above: [] });
}

function answer(context: DurableContext, host: NodeHost, message: Message, reply: Reply): void {
  const reported = answerMessage(message, reply, message.at);
  if (reported !== undefined) sendMessage(context, host, reported);
}

function reportIfUnhandled(host: NodeHost, message: Message, reply: Reply | undefined): void {
  const error = unhandledMessage(message, reply);
  if (error !== undefined) host.fault(error, { where: "turn", message });
}

const isTemporary = ({ code, message }: Fault): boolean => faults.isPassing(new EngineError(code, message));

function ignoreCancellation(error: unknown): void {
  if (!(error instanceof InvocationCancelled)) throw error;
}
