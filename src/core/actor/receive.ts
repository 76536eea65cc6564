// Owns: the order of a call in an actor: availability, arguments, confirmation, the author's handler, the reply. Does not own: the context
// it gets (turn-context.ts), the commit (core/chain).
import {
  type ActorViewer,
  BARE_RESULT,
  isBareResult,
  type Message,
  type Policy,
  type Reply,
  type Turn,
  type Work,
} from "../contract/index.ts";
import { BEGIN_ACTION, freezeDeep, hasOwn, isContent, isRefusal, REPLY_ACTION } from "../contract/internal.ts";
import { describeIssues } from "../schema/index.ts";
import type { Action } from "./actions.ts";
import { badTurn, explained, type Misfit } from "./author-errors.ts";
import { invalid, outOfChoice, readArgs, whyOff } from "./availability.ts";
import { frozenOf } from "./containers.ts";
import { actionOf, returnedReply, type WaitingCall } from "./delegation.ts";
import { keyOf } from "./names.ts";
import { unconfirmed } from "./questions.ts";
import { readOnly } from "./read-only.ts";
import { checkContent, ForwardedMark, Later, refused, unknownAction } from "./replies.ts";
import type { SeenBy } from "./roles.ts";
import { toJson } from "./to-json.ts";
import { ANONYMOUS, Needs, TurnContext, WorkingContext } from "./turn-context.ts";

/** The actions of a kind, and what turns need of its policy. */
export type Actions = ReadonlyMap<string, Action> & Pick<Policy, "minEveryMs"> & { readonly misfit: Misfit; readonly seen: SeenBy };

/**
 * The turn of one message, as data; `state` is deeply frozen. A throw is a crash, everything else an outcome. Without `life` and `seq`,
 * which name the event the turn would leave, the ids of what it sends are unique but not those an engine would give.
 */
export function receive(actions: Actions, state: object, message: Message, life = message.id, seq = 0): Turn<object> | Work<object> {
  const action = actions.get(message.action);
  if (action === undefined) return withoutAction(actions, message);
  const viewer = actions.seen(message.viewer ?? ANONYMOUS);
  let args: unknown;
  try {
    const off = action.enabled === undefined && action.allow === undefined ? undefined : whyOff(action, readOnly(state), viewer);
    if (off !== undefined) return { reply: off };
    const checked = readArgs(action, message.args);
    if (checked.issues !== undefined) return { reply: invalid(checked.issues) };
    args = checked.value;
    const isFree = action.choices === undefined && action.confirm === undefined;
    const held = isFree ? undefined : heldBack(action, readOnly(state), args, viewer, message);
    if (held !== undefined) return { reply: held };
  } catch (error) {
    return { reply: outcome(action, error, actions.misfit, state) };
  }
  const { handler } = action;
  if (handler.kind === "run")
    return run(actions, action, handler.run, new TurnContext(state, message, args, actions, action.confirm !== undefined, life, seq));
  if (handler.kind === "view") return { reply: read(actions, action, state, args, viewer, keyOf(message.to), message.at) };
  return (engine) =>
    work(actions, action, handler.work, new WorkingContext(state, message, args, actions, action.confirm !== undefined, life, seq, engine));
}

/** A message that no author wrote: an engine's own, or one that this kind does not have. */
function withoutAction(actions: Actions, message: Message): Turn<object> {
  const returned = returnedReply(message);
  if (returned === undefined) return { reply: message.action === BEGIN_ACTION ? { ok: null } : unknownAction(message.action) };
  const { call, reply } = returned;
  return { answer: { [call.id]: message.action === REPLY_ACTION ? fittingReply(actions, call, reply) : reply } };
}

/** The reply of another actor as that of this actor's own action. Throws `BAD_TURN` if it does not fit the action's `output`. */
function fittingReply(actions: Actions, call: WaitingCall, reply: Reply): Reply {
  const action = actions.get(actionOf(call));
  if (action === undefined || !hasOwn(reply, "ok")) return reply;
  const fitted = replyOf(action, reply.ok);
  return typeof fitted === "object" ? fitted : reply;
}

/** Why a call that fits its schema does not run: an argument that is not among its choices, or a confirmation. */
function heldBack(action: Action, state: object, args: unknown, viewer: ActorViewer, message: Message): Reply | undefined {
  return outOfChoice(action, state, args, viewer) ?? unconfirmed(action, state, args, viewer, message);
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

function run({ misfit }: Actions, action: Action, handler: (context: TurnContext) => unknown, context: TurnContext): Turn<object> {
  try {
    const value = handler(context);
    return context.close(replyOf(action, value), ForwardedMark.is(value));
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
    const value = await handler(context);
    return context.close(replyOf(action, value), ForwardedMark.is(value));
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

function replyOf(action: Action, value: unknown): Reply | "later" | undefined {
  // These are all objects, and most replies are not.
  const isObject = typeof value === "object";
  if (isObject && (Later.is(value) || ForwardedMark.is(value))) return "later";
  if (isObject && isBareResult(value) && action.name.startsWith("tools/")) throw badTurn(`${action.replied} ${BARE_RESULT}.`);
  if (action.output !== undefined)
    return { ok: checkContent(toJson(fitting(action, action.output, value), action.replied), action.replied) };
  if (value === undefined) return undefined;
  if (isObject && isPromise(value)) throw promised(action, value);
  return { ok: checkContent(toJson(value, action.replied), action.replied) };
}

function fitting(action: Action, output: NonNullable<Action["output"]>, value: unknown): unknown {
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
