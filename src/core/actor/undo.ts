// Owns: the tool `undo`: which turn of the caller it takes back, and how. Does not own: the actor's past (core/chain), the turn of the
// action that takes another one back (receive.ts).
import {
  type ActorViewer,
  type Context,
  isJsonObject,
  type Json,
  type Past,
  type PastTurn,
  type Per,
  type Reply,
  TroupeError,
  type Turn,
} from "../contract/index.ts";
import { didYouMean, missingScopes, missingScopesMessage } from "../contract/internal.ts";
import type { Action } from "./actions.ts";
import type { AnyDefinition } from "./any-definition.ts";
import { refused } from "./replies.ts";
import { hasRole } from "./roles.ts";

/** How a tool's turn is taken back: by restoring the state before it, or by another action with its arguments. */
type Undoing = { readonly by: "restore" } | { readonly by: "action"; readonly action: string };

/** A tool whose turns can be taken back. */
interface UndoneTool {
  readonly how: Undoing;
  /** Its own, and those of the tool that takes it back: a caller of `undo` needs them as a caller of these tools does. */
  readonly scopes: readonly string[];
}

/** What the tool `undo` of a kind can take back. */
export interface UndoPlan {
  /** The name of the tool that does it. */
  readonly tool: string;
  /** By the tool's action. */
  readonly tools: ReadonlyMap<string, UndoneTool>;
  readonly withinMs: number;
  readonly per: Per;
}

/** Turns that are looked at, from the newest. */
const LOOKED_AT = 64;

/** Undefined: the kind has no undo. Throws `BAD_DEFINITION`. */
export function undoPlan(kind: string, definition: AnyDefinition, actions: ReadonlyMap<string, Action>): UndoPlan | undefined {
  const tools = new Map<string, UndoneTool>();
  for (const [name, { undo, scopes = [] }] of Object.entries(definition.tools ?? {})) {
    const action = `tools/${name}`;
    const where = `${kind}: ${action}`;
    const handler = actions.get(action)?.handler.kind;
    if (undo !== undefined && handler === "view") throw bad(`${where} only reads: there is nothing to undo.`);
    if (typeof undo === "string") {
      const inverse = inverseOf(undo, where, actions);
      const needed = inverse.startsWith("tools/") ? (definition.tools?.[undo]?.scopes ?? []) : [];
      tools.set(action, { how: { by: "action", action: inverse }, scopes: [...new Set([...scopes, ...needed])] });
    }
    // What work did outside cannot be restored with the state.
    else if (definition.undo !== undefined && undo !== false && handler === "run") tools.set(action, { how: { by: "restore" }, scopes });
  }
  if (tools.size === 0 && definition.undo === undefined) return undefined;
  const tool = definition.undo?.tool ?? "undo";
  if (actions.has(`tools/${tool}`))
    throw bad(`${kind} has a tool ${JSON.stringify(tool)} of its own: rename it, or the one that undoes: undo: { tool: "take_back", … }.`);
  if (tools.size === 0) throw bad(`${kind} has \`undo\`, but no tool with \`run\` that it could take back.`);
  if (definition.persistence === "memory") throw bad(`${kind} is in memory, so it has no history to undo: store it on disk.`);
  const withinMs = definition.undo?.withinMs ?? Number.POSITIVE_INFINITY;
  if (!(withinMs > 0)) throw bad(`${kind}: undo.withinMs must be a number above 0.`);
  return { tool, tools, withinMs, per: definition.per ?? "shared" };
}

function inverseOf(name: string, where: string, actions: ReadonlyMap<string, Action>): string {
  const found = [`tools/${name}`, name].find((action) => {
    const handler = actions.get(action)?.handler.kind;
    return handler === "run" || handler === "work";
  });
  if (found !== undefined) return found;
  const all = [...actions.keys()].map((action) => action.replace(/^tools\//, ""));
  throw bad(
    `${where}: \`undo\` names ${JSON.stringify(name)}, which is no tool or message of this kind that changes something${didYouMean(name, all)}`,
  );
}

const bad = (message: string): TroupeError => new TroupeError("BAD_DEFINITION", message);

/** What to do, or the refusal. */
type Undo =
  | { readonly refusal: Reply }
  | { readonly seq: number; readonly tool: string; readonly state: object }
  | { readonly seq: number; readonly tool: string; readonly action: string; readonly args: Json };

const no = (why: string): Undo => ({ refusal: refused("NOT_NOW", why) });

/** Finds the caller's last turn that can be taken back, and how. */
export async function findUndo(
  plan: UndoPlan,
  actions: ReadonlyMap<string, Action>,
  viewer: ActorViewer,
  now: number,
  { past }: Pick<Context, "past">,
): Promise<Undo> {
  if (past === undefined) return no("Nothing can be undone here: this actor has no history.");
  const undone = new Set<number>();
  let others = 0;
  const turns = await past.turns(LOOKED_AT);
  for (const turn of turns) {
    const isCallers = isOwn(plan, viewer, turn);
    if (undone.delete(turn.seq)) {
      // Restoring leaves nothing of both turns. An action leaves what it made of the state, such as another order.
      if (!isCallers && plan.tools.get(turn.action)?.how.by !== "restore") others += 1;
      continue;
    }
    const seq = turn.action === `tools/${plan.tool}` && isJsonObject(turn.record) ? turn.record["undone"] : undefined;
    const tool = isCallers ? plan.tools.get(turn.action) : undefined;
    const reply = typeof seq === "number" || tool !== undefined ? await replyTo(turn, past) : undefined;
    const isDone = !isRefused(reply);
    if (typeof seq === "number" && isDone) {
      undone.add(seq);
      // What its reply will change is not known.
      if (reply === "later") others += 1;
    } else if (tool !== undefined && isDone && (hasEffect(turn) || hasUnstoredEffect(await past.again(turn.seq)))) {
      const refusal = withoutRights(tool, turn, viewer, actions);
      if (refusal !== undefined) return refusal;
      // Another actor may still refuse it: taking it back could take back what never was.
      if (reply === "later" && turn.sent) return no(`${nameOf(turn)} cannot be undone yet: it sent messages, and waits for its reply.`);
      // What is left in `undone` is older than this turn, so the state before it has what was taken back since.
      return whatToDo(plan, turn, tool.how, now, others + undone.size, past);
    } else if (turn.changed) others += 1;
  }
  return no(
    turns.length < LOOKED_AT
      ? "There is nothing of yours to undo."
      : `There is nothing of yours to undo among the last ${LOOKED_AT} changes here. Earlier ones cannot be undone.`,
  );
}

const nameOf = ({ action }: PastTurn): string => action.replace(/^tools\//, "");

const replyTo = async ({ seq, reply }: PastTurn, past: Past): Promise<PastTurn["reply"]> =>
  reply === "later" ? past.answerTo(seq) : reply;

/** Without one, there is only an event where the reply to a call with a key is remembered. */
const hasEffect = ({ changed, sent, timed, record, reply }: PastTurn): boolean =>
  changed || sent || timed || record !== undefined || reply === "later";

/** An event does not say which timers its turn cancelled, or set where they have fired since, nor to whom it replied. */
const hasUnstoredEffect = (turn: Turn<unknown> | undefined): boolean =>
  turn !== undefined && [turn.wake, turn.answer, turn.restart].some((one) => one !== undefined && Object.keys(one).length > 0);

/** A question, too: the call runs again with the answer. */
const isRefused = (reply: PastTurn["reply"]): boolean => isJsonObject(reply) && !Object.hasOwn(reply, "ok");

/** The refusal of a caller that could not call the tool itself any more. */
function withoutRights(
  { scopes }: UndoneTool,
  { action }: PastTurn,
  viewer: ActorViewer,
  actions: ReadonlyMap<string, Action>,
): Undo | undefined {
  const missing = missingScopes(scopes, viewer.scopes);
  if (missing.length > 0) return { refusal: refused("SCOPE", missingScopesMessage(missing), { scopes: missing }) };
  const allow = actions.get(action)?.allow;
  if (allow === undefined || hasRole(allow, viewer)) return undefined;
  return no(allow.otherwise === false ? "There is nothing of yours to undo." : allow.otherwise);
}

async function whatToDo({ withinMs }: UndoPlan, turn: PastTurn, undoing: Undoing, now: number, others: number, past: Past): Promise<Undo> {
  const { seq, args } = turn;
  const tool = nameOf(turn);
  if (now - turn.at > withinMs) return no(`${tool} was too long ago to be undone.`);
  if (undoing.by === "action") {
    if (args === undefined) return no(`${tool} cannot be undone: its arguments are secret, and were not stored.`);
    return { seq, tool, action: undoing.action, args };
  }
  if (others > 0) return no(`${tool} cannot be undone: something else has changed since.`);
  if (turn.sent || turn.reply === "later") return no(`${tool} cannot be undone: it sent messages, or waits for an answer.`);
  const { answer = {}, wake = {} } = (await past.again(seq)) ?? {};
  if (turn.timed || Object.values(wake).some((one) => one !== null)) return no(`${tool} cannot be undone: it set a timer.`);
  // Its caller has read that reply, and may have acted on it.
  if (Object.keys(answer).length > 0) return no(`${tool} cannot be undone: it replied to a call that waited.`);
  // Such as a timer that it cancelled.
  if (!turn.changed) return no(`${tool} cannot be undone: it changed something else than the state.`);
  const state = await past.stateBefore(seq);
  if (typeof state !== "object" || state === null) return no(`${tool} cannot be undone: the state before it is no longer stored.`);
  return { seq, tool, state };
}

/** Callers without a principal cannot be distinguished, unless a handle says whose actor it is. */
function isOwn({ per }: UndoPlan, { principal }: ActorViewer, turn: PastTurn): boolean {
  if (principal === undefined)
    return per !== "shared" && per !== "link" && turn.viewer !== undefined && turn.viewer.principal === undefined;
  return turn.viewer?.principal === principal;
}
