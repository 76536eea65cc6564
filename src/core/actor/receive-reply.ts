// Owns: the turn of a reply that `forward` or `request` waits for: what its handler has at hand, and the answer to the call behind it. Does
// not own: sending the message that it replies to (turn-context.ts).
import { type ActorViewer, isJsonObject, type Json, type Message, type Reply, type Turn } from "../contract/index.ts";
import { hasOwn, isRefusal, isReplyAction, REPLY_ACTION } from "../contract/internal.ts";
import type { CompiledReply } from "./actions.ts";
import { badTurn, explained } from "./author-errors.ts";
import type { Refused } from "./context.ts";
import { actionOf, readReplyArgs, returnedReply, type ReturnedReply, settledMessage, type WaitingCall } from "./delegation.ts";
import type { Actions } from "./receive.ts";
import { ForwardedMark, Later, refused, SettledMark } from "./replies.ts";
import { replyOf } from "./reply-value.ts";
import { toJson } from "./to-json.ts";
import { ANONYMOUS, type Caller, type KindOfTurn, TurnContext } from "./turn-context.ts";

/** Undefined if the message brings no such reply. */
export function receiveReply(actions: Actions, state: object, message: Message, life: string, seq: number): Turn<object> | undefined {
  if (isReplyAction(message.action) && isOfEarlierLife(message, life)) return {};
  const arrived = settledMessage(message);
  if (arrived !== undefined) return { arrived };
  const returned = returnedReply(message);
  if (returned === undefined) return undefined;
  const { call, reply, handler: name } = returned;
  // The turn that this reply was for has failed, so nothing runs.
  if (message.action !== REPLY_ACTION) return answered(call, reply);
  if (name === undefined) return answered(call, hasOwn(reply, "ok") ? fitting(actions, call, reply.ok) : reply);
  // A question leaves no trace in the other actor (C3), and this call runs again with its answers.
  if (hasOwn(reply, "needs")) return answered(call, reply);
  const handler = actions.replies.get(name);
  if (handler === undefined)
    return answered(call, refused("UNKNOWN", `A reply came back, and there is no \`${name}\` in \`replies\` any more.`));
  const run = hasOwn(reply, "ok") ? handler.run : handler.refused;
  if (run === undefined) return answered(call, reply);
  const viewer = actions.seen(returned.viewer ?? ANONYMOUS);
  return handle(actions, handler, returned, run, new ReplyContext(state, message, handler, returned, viewer, actions, life, seq));
}

/** The callers of a life have their replies when it ends, so what it requested is for none in the next one. */
function isOfEarlierLife({ id, from, args }: Message, life: string): boolean {
  const of = isJsonObject(args) ? args["of"] : undefined;
  // Without an engine, there is no life to compare with.
  return from !== undefined && life !== id && typeof of === "string" && !of.startsWith(`${life}.`);
}

function handle(
  actions: Actions,
  handler: CompiledReply,
  { call, reply: given }: ReturnedReply,
  run: (context: ReplyContext) => unknown,
  context: ReplyContext,
): Turn<object> {
  try {
    const value = run(context);
    if (Later.is(value)) throw badTurn(`${handler.name} returned later(): return the reply, or what forward() or request() returns.`);
    const settled = SettledMark.read(value);
    if (settled !== undefined) return context.closeSettled(fitting(actions, call, settled.value));
    const isForwarded = ForwardedMark.is(value);
    // A refusal that is thrown would drop what `refused` has changed and sent, such as a compensation.
    const isPassedOn = value === undefined && hasOwn(given, "refused");
    const reply = isForwarded ? undefined : isPassedOn ? given : fitting(actions, call, value);
    const turn = context.close(undefined, isForwarded);
    return reply === undefined ? turn : { ...turn, answer: { ...turn.answer, [call.id]: reply } };
  } catch (error) {
    // C3: the draft and the effects are dropped with the context.
    context.end();
    if (isRefusal(error)) return answered(call, refused(error.code, error.message, error.data));
    throw explained(handler.name, error, actions.misfit(error, context.base));
  }
}

const answered = ({ id }: WaitingCall, reply: Reply): Turn<object> => ({ answer: { [id]: reply } });

/** A value as the reply of the action that waits. Throws `BAD_TURN` if it does not fit the action's `output`. */
function fitting(actions: Actions, call: WaitingCall, value: unknown): Reply {
  const action = actions.get(actionOf(call));
  const reply = action === undefined ? { ok: toJson(value ?? null, "a reply") } : replyOf(action, value);
  return reply === undefined || reply === "later" ? { ok: null } : reply;
}

const NOT_REFUSED: Refused = { code: "", message: "" };

/** The turn of a reply. It is on behalf of the call that made the request. */
class ReplyContext extends TurnContext {
  readonly #returned: ReturnedReply;

  constructor(
    base: object,
    message: Message,
    handler: CompiledReply,
    returned: ReturnedReply,
    viewer: ActorViewer,
    kind: KindOfTurn,
    life: string,
    seq: number,
  ) {
    super(base, message, readReplyArgs(handler, returned.args), viewer, kind, life, seq);
    this.#returned = returned;
  }
  /** What the other actor replied; null if it refused. */
  get reply(): Json {
    const { reply } = this.#returned;
    return "ok" in reply ? reply.ok : null;
  }
  get refused(): Refused {
    const { reply } = this.#returned;
    return "refused" in reply ? reply.refused : NOT_REFUSED;
  }
  protected override closeWith(reply: Reply): Turn<object> {
    const turn = this.close(undefined, false);
    return { ...turn, answer: { ...turn.answer, [this.#returned.call.id]: reply } };
  }
  protected override caller(): Caller {
    const { call, viewer, deadline, reply } = this.#returned;
    // A question to the client would run the whole call again, and with it the request that was applied already.
    const more = { viewer, can: undefined, answers: undefined };
    return "refused" in reply ? { ...more, call: { ...call, undoing: true }, deadline: undefined } : { ...more, call, deadline };
  }
}
