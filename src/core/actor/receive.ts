// Owns: the order of a call in an actor: availability, arguments, confirmation, the author's handler, the reply. Does not own: the context
// it gets (turn-context.ts), the commit (core/chain).
import type { ActorViewer, Context, Message, Reply, Turn, Work } from "../contract/index.ts";
import { BEGIN_ACTION, freezeDeep, hasOwn, isRefusal } from "../contract/internal.ts";
import type { Action } from "./actions.ts";
import { explained, type Misfit } from "./author-errors.ts";
import { invalid, outOfChoice, readArgs, whyOff } from "./availability.ts";
import { frozenOf } from "./containers.ts";
import { keyOf } from "./names.ts";
import { unconfirmed } from "./questions.ts";
import { readOnly } from "./read-only.ts";
import { receiveReply } from "./receive-reply.ts";
import { replyOf, settledReply } from "./reply-value.ts";
import { ForwardedMark, refused, SettledMark, unknownAction } from "./replies.ts";
import type { SeenBy } from "./roles.ts";
import { toJson } from "./to-json.ts";
import { ANONYMOUS, type KindOfTurn, Needs, TurnContext, WorkingContext } from "./turn-context.ts";
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
    const isFree = action.choices === undefined && action.confirm === undefined;
    const held = isFree ? undefined : heldBack(action, readOnly(state), args, viewer, message);
    if (held !== undefined) return { reply: held };
  } catch (error) {
    return { reply: outcome(action, error, actions.misfit, state) };
  }
  const { handler } = action;
  if (handler.kind === "run") return run(actions, action, handler.run, new TurnContext(state, message, args, viewer, actions, life, seq));
  if (handler.kind === "view") return { reply: read(actions, action, state, args, viewer, keyOf(message.to), message.at) };
  if (handler.kind === "undo") return (engine) => undo(actions, handler.plan, state, message, viewer, life, seq, engine);
  return (engine) => work(actions, action, handler.work, new WorkingContext(state, message, args, viewer, actions, life, seq, engine));
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
