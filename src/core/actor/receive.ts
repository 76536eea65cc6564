import { BARE_RESULT, isBareResult, type Message, type Policy, type Reply, type Turn, type Viewer, type Work } from "../contract/index.ts";
import { BEGIN_ACTION, freezeDeep, isContent, isRefusal } from "../contract/internal.ts";
import { badTurn, explained } from "./bad-turn.ts";
import { unconfirmed } from "./confirm.ts";
import { readable } from "./content.ts";
import { invalid, outOfChoice, readArgs, whyOff } from "./decide.ts";
import { frozenOf, readOnly } from "./draft/index.ts";
import { Later } from "./later.ts";
import type { Misfit } from "./misfit.ts";
import { keyOf } from "./names.ts";
import { plain } from "./plain.ts";
import type { Act } from "./act.ts";
import { refused, unknownAction } from "./refuse.ts";
import { describeIssues } from "../schema/index.ts";
import { Needs, NOBODY, TurnContext } from "./turn-context.ts";
import { WorkingContext } from "./work-context.ts";

/** The actions of a kind, and what turns need of its policy. */
export type Acts = ReadonlyMap<string, Act> & Pick<Policy, "minEveryMs"> & { readonly misfit: Misfit };

/**
 * The turn of one message, as data; `state` is deeply frozen. A throw is a crash, everything else an outcome. Who does not
 * say what event the turn would leave gets ids of what it sends that are as good, and no engine's.
 */
export function receive(acts: Acts, state: object, message: Message, life = message.id, seq = 0): Turn<object> | Work<object> {
  const act = acts.get(message.action);
  if (act === undefined) return { reply: isBegin(message) ? { ok: null } : unknownAction(message.action) };
  const viewer = message.viewer ?? NOBODY;
  let args: unknown;
  try {
    const off = act.when === undefined ? undefined : whyOff(act, readOnly(state), viewer);
    if (off !== undefined) return { reply: off };
    const checked = readArgs(act, message.args);
    if (checked.issues !== undefined) return { reply: invalid(checked.issues) };
    args = checked.value;
    const isFree = act.choices === undefined && act.confirm === undefined;
    const held = isFree ? undefined : notYet(act, readOnly(state), args, viewer, message);
    if (held !== undefined) return { reply: held };
  } catch (error) {
    return { reply: outcome(act, error, acts.misfit, state) };
  }
  const { does } = act;
  if (does.how === "run")
    return run(acts, act, does.run, new TurnContext(state, message, args, acts, act.confirm !== undefined, life, seq));
  if (does.how === "view") return { reply: read(acts, act, state, args, viewer, keyOf(message.to)) };
  return (engine) =>
    work(acts, act, does.work, new WorkingContext(state, message, args, acts, act.confirm !== undefined, life, seq, engine));
}

/** Why a call that fits its schema is not made: an argument outside its choices, or a question to be answered first. */
function notYet(act: Act, state: object, args: unknown, viewer: Viewer, message: Message): Reply | undefined {
  return outOfChoice(act, state, args, viewer) ?? unconfirmed(act, state, args, viewer, message);
}

/** Only to begin: its initial state is committed, nothing else happens. */
function isBegin({ action, start }: Message): boolean {
  return start !== undefined && (action === BEGIN_ACTION || action === "begin");
}

/** A pure read of a durable state (law 2). */
export function view(acts: Acts, state: object, action: string, args: unknown, viewer: Viewer, key: string): Reply {
  const act = acts.get(action);
  if (act === undefined || act.does.how !== "view") return unknownAction(action);
  const seen = readOnly(state);
  const off = whyOff(act, seen, viewer);
  if (off !== undefined) return off;
  freezeDeep(args);
  const checked = readArgs(act, args);
  if (checked.issues !== undefined) return invalid(checked.issues);
  return outOfChoice(act, seen, checked.value, viewer) ?? read(acts, act, state, checked.value, viewer, key);
}

function run({ misfit }: Acts, act: Act, does: (context: TurnContext) => unknown, context: TurnContext): Turn<object> {
  try {
    const reply = replyOf(act, does(context));
    return context.close(reply);
  } catch (error) {
    // C3: the draft and the effects are dropped with the context.
    context.end();
    return { reply: outcome(act, error, misfit, context.base) };
  }
}

async function work(
  { misfit }: Acts,
  act: Act,
  does: (context: WorkingContext) => Promise<unknown>,
  context: WorkingContext,
): Promise<Turn<object>> {
  try {
    const reply = replyOf(act, await does(context));
    return context.close(reply);
  } catch (error) {
    const reply = outcome(act, error, misfit, context.base);
    const record = context.recorded();
    // C3: what it did outside stays done, so what it recorded of it stays said.
    return record === undefined ? { reply } : { reply, record };
  } finally {
    context.end();
  }
}

function read({ misfit }: Acts, act: Act, state: object, args: unknown, viewer: Viewer, key: string): Reply {
  if (act.does.how !== "view") return unknownAction(act.action);
  try {
    const value = frozenOf(act.does.view(readOnly(state), { args, viewer, key }));
    // A whole committed state was checked at its commit.
    if (value === state && act.output === undefined) return { ok: plain(value, "the state") };
    const reply = replyOf(act, value);
    return reply === undefined || reply === "later" ? { ok: null } : reply;
  } catch (error) {
    return outcome(act, error, misfit, state);
  }
}

function outcome(act: Act, error: unknown, misfit: Misfit, state: object): Reply {
  if (isRefusal(error)) return refused(error.code, error.message, error.data);
  if (error instanceof Needs) return { needs: error.requests };
  throw explained(act.action, error, misfit(error, state));
}

function replyOf(act: Act, value: unknown): Reply | "later" | undefined {
  // Whatever else a reply can be is an object.
  const isObject = typeof value === "object";
  if (isObject && Later.is(value)) return "later";
  if (isObject && isBareResult(value) && act.action.startsWith("tools/")) throw badTurn(`${act.replied} ${BARE_RESULT}.`);
  if (act.output !== undefined) return { ok: readable(plain(fitting(act, act.output, value), act.replied), act.replied) };
  if (value === undefined) return undefined;
  if (isObject && isPromise(value)) throw promised(act, value);
  return { ok: readable(plain(value, act.replied), act.replied) };
}

function fitting(act: Act, output: NonNullable<Act["output"]>, value: unknown): unknown {
  if (isPromise(value)) throw promised(act, value);
  const shown: unknown = isContent(value) ? value["structured"] : value;
  const checked = output(shown);
  if (checked.issues !== undefined) throw badTurn(`What ${act.action} replied is not its \`output\`: ${describeIssues(checked.issues)}.`);
  return isContent(value) ? { ...value, structured: checked.value } : checked.value;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function promised(act: Act, value: PromiseLike<unknown>): Error {
  // Its own failure is nobody's news any more.
  value.then(undefined, () => undefined);
  return badTurn(`${act.action} returned a promise: a turn is synchronous, and what it awaited is lost. Use \`work\` for what waits.`);
}
