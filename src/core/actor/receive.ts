// Owns: from a message to the turn of an actor: availability, arguments, confirmation, the author's handler, its reply; and the turn of a
// reply from another actor. Does not own: the context that a handler gets (turn-context.ts), the commit (core/chain).
import {
  type ActorViewer,
  BARE_RESULT,
  CONTENT,
  type Context,
  isBareResult,
  isJsonObject,
  type Json,
  type Message,
  type Reply,
  type Turn,
  type Work,
} from "../contract/index.ts";
import {
  BEGIN_ACTION,
  freezeDeep,
  hasOwn,
  invalidInBlock,
  isContent,
  isRefusal,
  isReplyAction,
  REPLY_ACTION,
} from "../contract/internal.ts";
import { describeIssues } from "../schema/index.ts";
import type { Action, CompiledReply } from "./actions.ts";
import { badTurn, explained, type Misfit } from "./author-errors.ts";
import { outOfChoice, whyOff } from "./availability.ts";
import { frozenOf } from "./containers.ts";
import type { Refused } from "./context.ts";
import { actionOf, readReplyArgs, returnedReply, type ReturnedReply, settledMessage, type WaitingCall } from "./delegation.ts";
import { keyOf } from "./names.ts";
import { unconfirmed } from "./questions.ts";
import { readOnly } from "./read-only.ts";
import { ForwardedMark, invalid, Later, refused, SettledMark, unknownAction } from "./replies.ts";
import type { SeenBy } from "./roles.ts";
import { readArgs } from "./schema.ts";
import { toJson } from "./to-json.ts";
import { ANONYMOUS, type Caller, type KindOfTurn, Needs, TurnContext, WorkingContext } from "./turn-context.ts";
import { findUndo, type UndoPlan } from "./undo.ts";

/** The actions of a kind, and what turns need of its policy. */
export type Actions = ReadonlyMap<string, Action> &
  Pick<KindOfTurn, "minEveryMs" | "replies" | "address"> & { readonly misfit: Misfit; readonly seen: SeenBy };

/**
 * The turn of one message, as data; `state` is deeply frozen. A throw is a crash, everything else an outcome. Without `life` and `seq`,
 * which name the event the turn would leave, the ids of what it sends are unique but not those an engine would give.
 */
export function receive(actions: Actions, state: object, message: Message, life = message.id, seq = 0): Turn<object> | Work<object> {
  const action = actions.get(message.action);
  if (action === undefined)
    return (
      receiveReply(actions, state, message, life, seq) ?? {
        reply: message.action === BEGIN_ACTION ? { ok: null } : unknownAction(message.action),
      }
    );
  const viewer = actions.seen(message.viewer ?? ANONYMOUS);
  let args: unknown;
  try {
    const off = action.enabled === undefined && action.allow === undefined ? undefined : whyOff(action, readOnly(state), viewer);
    if (off !== undefined) return { reply: off };
    const checked = readArgs(action, message.args);
    if (checked.issues !== undefined) return { reply: invalid(checked.issues) };
    args = checked.value;
    if (action.choices !== undefined || action.confirm !== undefined) {
      const readable = readOnly(state);
      const held = outOfChoice(action, readable, args, viewer) ?? unconfirmed(action, readable, args, viewer, message);
      if (held !== undefined) return { reply: held };
    }
  } catch (error) {
    return { reply: outcome(action, error, actions.misfit, state) };
  }
  const { handler } = action;
  if (handler.kind === "run") return run(actions, action, handler.run, new TurnContext(state, message, args, viewer, actions, life, seq));
  if (handler.kind === "view") return { reply: read(actions, action, state, args, viewer, keyOf(message.to), message.at) };
  if (handler.kind === "undo") return (engine) => undo(actions, handler.plan, state, message, viewer, life, seq, engine);
  return (engine) => work(actions, action, handler.work, new WorkingContext(engine, state, message, args, viewer, actions, life, seq));
}

/** Takes back the caller's last turn: its record says which, so that the one before it comes next. */
async function undo(
  actions: Actions,
  plan: UndoPlan,
  state: object,
  message: Message,
  viewer: ActorViewer,
  life: string,
  seq: number,
  engine: Context,
): Promise<Turn<object>> {
  const found = await findUndo(plan, actions, viewer, message.at, engine);
  if ("refusal" in found) return { reply: found.refusal };
  const { seq: undone, tool } = found;
  if ("state" in found) return { state: found.state, reply: { ok: `Undone: ${tool}.` }, record: { undone } };
  const taken = receive(actions, state, { ...message, action: found.action, args: found.args }, life, seq);
  const turn = typeof taken === "function" ? await taken(engine) : taken;
  const { reply = { ok: `Undone: ${tool}.` }, record } = turn;
  if (reply !== "later" && !hasOwn(reply, "ok")) return turn;
  return { ...turn, reply, record: { undone, ...(record !== undefined && { record }) } };
}

/** A pure read of a durable state (law 2). */
export function view(actions: Actions, state: object, name: string, args: unknown, viewer: ActorViewer, key: string, now: number): Reply {
  const action = actions.get(name);
  if (action === undefined || action.handler.kind !== "view") return unknownAction(name);
  const readable = readOnly(state);
  const off = whyOff(action, readable, viewer);
  if (off !== undefined) return off;
  freezeDeep(args);
  const checked = readArgs(action, args);
  if (checked.issues !== undefined) return invalid(checked.issues);
  return outOfChoice(action, readable, checked.value, viewer) ?? read(actions, action, state, checked.value, viewer, key, now);
}

/** The turn that a handler's value ends. */
function ended(action: Action, value: unknown, context: TurnContext): Turn<object> {
  const isObject = typeof value === "object";
  const settled = isObject ? SettledMark.read(value) : undefined;
  if (settled === undefined) return context.close(replyOf(action, value), isObject && ForwardedMark.is(value));
  return context.closeSettled(settledReply(action, settled.value));
}

function run({ misfit }: Actions, action: Action, handler: (context: TurnContext) => unknown, context: TurnContext): Turn<object> {
  try {
    return ended(action, handler(context), context);
  } catch (error) {
    // C3: the draft and the effects are dropped with the context.
    context.end();
    return { reply: outcome(action, error, misfit, context.base) };
  }
}

async function work(
  { misfit }: Actions,
  action: Action,
  handler: (context: WorkingContext) => Promise<unknown>,
  context: WorkingContext,
): Promise<Turn<object>> {
  try {
    return ended(action, await handler(context), context);
  } catch (error) {
    const reply = outcome(action, error, misfit, context.base);
    const record = context.recorded();
    // C3: what it did outside stays done, so its record stays too.
    return record === undefined ? { reply } : { reply, record };
  } finally {
    context.end();
  }
}

function read({ misfit }: Actions, action: Action, state: object, args: unknown, viewer: ActorViewer, key: string, now: number): Reply {
  if (action.handler.kind !== "view") return unknownAction(action.name);
  try {
    const value = frozenOf(action.handler.view({ state: readOnly(state), args, viewer, key, now }));
    // A whole committed state was checked at its commit.
    if (value === state && action.output === undefined) return { ok: toJson(value, "the state") };
    const reply = replyOf(action, value);
    return reply === undefined || reply === "later" ? { ok: null } : reply;
  } catch (error) {
    return outcome(action, error, misfit, state);
  }
}

function outcome(action: Action, error: unknown, misfit: Misfit, state: object): Reply {
  if (isRefusal(error)) return refused(error.code, error.message, error.data);
  if (error instanceof Needs) return { needs: error.requests };
  throw explained(action.name, error, misfit(error, state));
}

// ── what a handler returned, as a reply ─────────────────────────────────────

/** The reply that a handler's value stands for. Undefined: none was returned. Throws `BAD_TURN`. */
function replyOf(action: Action, value: unknown): Reply | "later" | undefined {
  // These are all objects, and most replies are not.
  const isObject = typeof value === "object";
  if (isObject && (Later.is(value) || ForwardedMark.is(value))) return "later";
  if (isObject && isBareResult(value) && action.name.startsWith("tools/")) throw badTurn(`${action.replied} ${BARE_RESULT}.`);
  if (action.output !== undefined)
    return { ok: checkContent(toJson(fitOutput(action, action.output, value), action.replied), action.replied) };
  if (value === undefined) return undefined;
  if (isObject && isPromise(value)) throw promised(action, value);
  return { ok: checkContent(toJson(value, action.replied), action.replied) };
}

/** The reply that the value of `settled()` stands for. Throws `BAD_TURN` if it is none yet. */
function settledReply(action: Action, value: unknown): Reply {
  const reply = replyOf(action, value) ?? { ok: null };
  if (reply === "later")
    throw badTurn(`${action.name}: settled(value) takes the reply itself, not what later(), forward() or request() returns.`);
  return reply;
}

function fitOutput(action: Action, output: NonNullable<Action["output"]>, value: unknown): unknown {
  if (isPromise(value)) throw promised(action, value);
  const data: unknown = isContent(value) ? value["structured"] : value;
  const checked = output(data);
  if (checked.issues !== undefined) throw badTurn(`What ${action.name} replied is not its \`output\`: ${describeIssues(checked.issues)}.`);
  return isContent(value) ? { ...value, structured: checked.value } : checked.value;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function promised(action: Action, value: PromiseLike<unknown>): Error {
  // Its own failure must not be reported as unhandled.
  value.then(undefined, () => undefined);
  return badTurn(`${action.name} returned a promise: a turn is synchronous, and what it awaited is lost. Use \`work\` for what waits.`);
}

/** The value itself. Throws `BAD_TURN` for a content block that clients cannot read: they would refuse the whole reply. */
function checkContent(value: Json, name: string): Json {
  if (!isContent(value)) return value;
  for (const [at, block] of value[CONTENT].entries()) {
    const wrong = isJsonObject(block) ? invalidInBlock(block) : undefined;
    if (wrong !== undefined) throw badTurn(`${name} has a block no client can read, /${at}: ${wrong}.`);
  }
  return value;
}

// ── a reply from another actor ──────────────────────────────────────────────

/** The turn of a reply that `forward` or `request` waits for. Undefined if the message brings no such reply. */
function receiveReply(actions: Actions, state: object, message: Message, life: string, seq: number): Turn<object> | undefined {
  if (isReplyAction(message.action) && isOfEarlierLife(message, life)) return {};
  const arrived = settledMessage(message);
  if (arrived !== undefined) return { arrived };
  const returned = returnedReply(message);
  if (returned === undefined) return undefined;
  const { call, reply, handler: name } = returned;
  // The turn that this reply was for has failed, so nothing runs.
  if (message.action !== REPLY_ACTION) return answered(call, reply);
  if (name === undefined) return answered(call, hasOwn(reply, "ok") ? replyToCall(actions, call, reply.ok) : reply);
  // A question leaves no trace in the other actor (C3), and this call runs again with its answers.
  if (hasOwn(reply, "needs")) return answered(call, reply);
  const handler = actions.replies.get(name);
  if (handler === undefined)
    return answered(call, refused("UNKNOWN", `A reply came back, and there is no \`${name}\` in \`replies\` any more.`));
  const respond = hasOwn(reply, "ok") ? handler.run : handler.refused;
  if (respond === undefined) return answered(call, reply);
  const viewer = actions.seen(returned.viewer ?? ANONYMOUS);
  const args = readReplyArgs(handler, returned.args);
  return handle(actions, handler, returned, respond, new ReplyContext(returned, state, message, args, viewer, actions, life, seq));
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
  respond: (context: ReplyContext) => unknown,
  context: ReplyContext,
): Turn<object> {
  try {
    const value = respond(context);
    if (Later.is(value)) throw badTurn(`${handler.name} returned later(): return the reply, or what forward() or request() returns.`);
    const settled = SettledMark.read(value);
    if (settled !== undefined) return context.closeSettled(replyToCall(actions, call, settled.value));
    const isForwarded = ForwardedMark.is(value);
    // A refusal that is thrown would drop what `refused` has changed and sent, such as a compensation.
    const isPassedOn = value === undefined && hasOwn(given, "refused");
    const reply = isForwarded ? undefined : isPassedOn ? given : replyToCall(actions, call, value);
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
function replyToCall(actions: Actions, call: WaitingCall, value: unknown): Reply {
  const action = actions.get(actionOf(call));
  const reply = action === undefined ? { ok: toJson(value ?? null, "a reply") } : replyOf(action, value);
  return reply === undefined || reply === "later" ? { ok: null } : reply;
}

const NOT_REFUSED: Refused = { code: "", message: "" };

/** The turn of a reply. It is on behalf of the call that made the request. */
class ReplyContext extends TurnContext {
  readonly #returned: ReturnedReply;

  constructor(returned: ReturnedReply, ...turn: ConstructorParameters<typeof TurnContext>) {
    super(...turn);
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
