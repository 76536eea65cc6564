// Owns: the context that a forwarded message carries and its reply brings back: which call waits, and the actors on the way. Does not own:
// sending it (turn-context.ts), what its reply does (receive.ts).
import { type ActorId, isJsonObject, type Json, type Message, type Reply, type ActorViewer } from "../contract/index.ts";
import { hasOwn, isActorViewer, isReplyAction, isTexts, omitUndefined, REPLY_ACTION, SETTLED_ACTION } from "../contract/internal.ts";
import { describeIssues } from "../schema/index.ts";
import type { CompiledReply } from "./actions.ts";
import { badTurn } from "./author-errors.ts";
import { refuse } from "./replies.ts";
import { toJson } from "./to-json.ts";

/** The call whose reply another actor gives. */
export interface WaitingCall {
  /** The id of its message. */
  readonly id: string;
  /** The id of the first call, which was forwarded to this one. Absent: this is the first. */
  readonly root?: string;
  /** A handler follows a refusal with it, perhaps to take an earlier step back: it runs although the caller has left. */
  readonly undoing?: true;
  /** From the first actor that forwarded to this one: each `kind/key action`. The last is this actor and the action of the call. */
  readonly path: readonly string[];
}

/** What a forwarded message carries besides, for the turn that its reply causes. */
interface Continuation {
  /** The name of the handler in `replies`. Absent: the reply is the call's. */
  readonly handler?: string | undefined;
  readonly args?: Json | undefined;
  /** The call has secret arguments, which `args` may repeat: no event stores them. */
  readonly secret?: true | undefined;
  /** On whose behalf the call was made. */
  readonly viewer?: ActorViewer | undefined;
  readonly deadline?: number | undefined;
}

/** A reply that came back. */
export interface ReturnedReply extends Continuation {
  readonly call: WaitingCall;
  readonly reply: Reply;
}

const LONGEST_PATH = 32;

const stepOf = (to: ActorId, action: string): string => `${to} ${action}`;

/** The action of the call. */
export const actionOf = ({ path }: WaitingCall): string => (path.at(-1) ?? "").split(" ")[1] ?? "";

/** The call that a message makes. */
export function callOf({ id, to, action, replyAs, replyContext }: Message): WaitingCall {
  const before = replyAs === REPLY_ACTION ? readContext(replyContext)?.call : undefined;
  const path = [...(before?.path ?? []), stepOf(to, action)];
  return { id, path, ...omitUndefined({ root: before?.root, undoing: before?.undoing }) };
}

/** The context of a message that `call` is forwarded by. Refuses `CYCLE` if the call would come back to where it has been. */
export function contextFor(
  { id, root, path, undoing }: WaitingCall,
  { to, action }: Pick<Message, "to" | "action">,
  more: Continuation = {},
): Json {
  const next = stepOf(to, action);
  const first = path.indexOf(next);
  if (first >= 0) refuse(`This call would go in a circle: ${wayOf([...path.slice(first), next])}.`, { code: "CYCLE" });
  if (path.length >= LONGEST_PATH)
    refuse(`This call was forwarded ${LONGEST_PATH} times, which is the most: ${wayOf([...path, next])}.`, { code: "CYCLE" });
  const { handler, args, secret, viewer, deadline } = more;
  return {
    call: id,
    root: root ?? id,
    path,
    ...omitUndefined({ undoing, handler, args, secret, viewer: viewer && toJson(viewer, "the viewer"), deadline }),
  };
}

// A key may be another user's name, which the caller must not read.
const wayOf = (path: readonly string[]): string => path.map((step) => step.replace(/\/\S*/, "")).join(" → ");

/** Undefined if the message brings no reply that this folder requested. */
export function returnedReply({ action, from, args }: Message): ReturnedReply | undefined {
  if (!isReplyAction(action) || from === undefined || !isJsonObject(args)) return undefined;
  const { reply = null, context } = args;
  const read = readContext(context);
  return read === undefined || !isReply(reply) ? undefined : { ...read, reply };
}

/** The call whose reply waits for a message, and the id of that message. Undefined if the message says nothing of that. */
export function settledMessage({ action, from, args }: Message): Readonly<Record<string, string>> | undefined {
  if (action !== SETTLED_ACTION || from === undefined || !isJsonObject(args)) return undefined;
  const { of, context } = args;
  const call = isJsonObject(context) ? context["call"] : undefined;
  return typeof of === "string" && typeof call === "string" ? { [call]: of } : undefined;
}

function readContext(context: Json | undefined): (Continuation & { readonly call: WaitingCall }) | undefined {
  if (!isJsonObject(context)) return undefined;
  const { call, root, path, undoing, handler, args, viewer, deadline } = context;
  if (typeof call !== "string" || !isTexts(path) || path.length > LONGEST_PATH) return undefined;
  return {
    call: { id: call, path, ...(typeof root === "string" && { root }), ...(undoing === true && { undoing }) },
    ...(typeof handler === "string" && { handler }),
    ...(args !== undefined && { args }),
    ...(isActorViewer(viewer) && { viewer }),
    ...(typeof deadline === "number" && { deadline }),
  };
}

/** Whether a value is one of the three replies. */
export function isReply(value: Json): value is Reply & Json {
  if (!isJsonObject(value) || Object.keys(value).length !== 1) return false;
  const { needs = null, refused } = value;
  return (
    hasOwn(value, "ok") ||
    (typeof needs === "object" && needs !== null) ||
    (isJsonObject(refused) && "code" in refused && "message" in refused)
  );
}

/** Throws `BAD_TURN` if they do not fit the handler's `input`. */
export function readReplyArgs({ name, input }: CompiledReply, args: Json | undefined): unknown {
  if (input === undefined) return args;
  const checked = input(args ?? {});
  if (checked.issues !== undefined) throw badTurn(`The arguments of ${name} do not fit its \`input\`: ${describeIssues(checked.issues)}.`);
  return checked.value;
}
