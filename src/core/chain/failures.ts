// Owns: after how many crashes an actor fails (its kind's policy `restart`), and how a failure is reported: to the parent, in a dead
// letter, in the log. Does not own: the crash itself (turn.ts), sending or logging these, starting a failed actor again.
import { type ActorId, EngineError, isJsonObject, type Message, type Reply, type Row, TroupeError } from "../contract/index.ts";
import { hasOwn, isNoticeOfChild, nameOf, SETTLED_ACTION } from "../contract/internal.ts";
import { sha256 } from "./event.ts";

/** The action of the message that tells a parent that its child failed. */
const FAILED = "failed";

/**
 * The message to the parent of a child that failed for good on the message `crash`; undefined if it has no parent, or is muted. It is
 * stored only where the failure itself is: an engine that forgets failures on a restart forgets this message too.
 */
export function failedMessage(
  { parent, muted }: Pick<Row, "parent" | "muted">,
  child: ActorId,
  why: string,
  crash: Message,
  at: number,
): Message | undefined {
  if (parent === undefined || muted === true) return undefined;
  // A restarted child may fail again on the same message, which is delivered again. That failure needs an id of its own.
  const of = `${crash.id}.failed.${at}`;
  const seed = sha256(`${crash.seed}:${of}`).slice(0, 32);
  return { id: of, to: parent, action: FAILED, args: { child, why }, at, seed, from: child, noStart: true };
}

/** In characters: of what an author's code threw. */
const MAX_THROWN = 1_000;

/**
 * What the author's code threw, for operators: name, code and sentence. `secret`: it worked on secret arguments, which the sentence may
 * repeat, so that is left out. Undefined: it threw nothing.
 */
export function thrownText(thrown: unknown, secret: boolean): string | undefined {
  if (thrown === undefined) return undefined;
  const name = nameOf(thrown);
  const code = thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? ` (${thrown.code.slice(0, 100)})` : "";
  const sentence = thrown instanceof Error ? thrown.message : typeof thrown === "string" ? thrown : "";
  // Troupe's own sentences hold no arguments.
  if (secret && !(thrown instanceof TroupeError)) return `${name}${code}, whose text is hidden, since the message has secret arguments`;
  return `${name}${code}${sentence === "" ? "" : `: ${sentence.slice(0, MAX_THROWN)}`}`;
}

/** Why a message became a dead letter, for operators: what failed, in which turn, and what the author's code threw. */
export function letterReason(error: Pick<EngineError, "code" | "message" | "data">, to: ActorId, thrown: string | undefined): string {
  const { code, message, data } = error;
  const event = isJsonObject(data) ? data["event"] : undefined;
  if (thrown === undefined) return `${code}: ${message}`;
  return code === "CRASHED" && typeof event === "number"
    ? `${code}: ${to} crashed at event ${event}: ${thrown}`
    : `${code}: ${message} It threw ${thrown}`;
}

const MOST_PATHS = 8;

/**
 * The error to log for a send or a wake that its receiver does not know (`UNKNOWN`) or cannot read (`INVALID`). A refusal is an
 * outcome like any other, but here no caller waits for it. Reports paths, never values. Undefined if the message was handled, or if
 * its sender requested the reply.
 */
export function unhandledMessage(message: Message, reply: Reply | undefined): EngineError | undefined {
  const { to, from, action, replyAs } = message;
  if (reply === undefined || !hasOwn(reply, "refused") || (replyAs !== undefined && replyAs !== SETTLED_ACTION && from !== undefined))
    return undefined;
  if (isNoticeOfChild(message)) return undefined;
  const { code, data } = reply.refused;
  if (code !== "UNKNOWN" && code !== "INVALID") return undefined;
  const what = `${JSON.stringify(action.slice(0, 100))}${from === undefined ? "" : ` of ${from}`}`;
  const why =
    code === "UNKNOWN"
      ? `it has none of that name for its sender: send what its kind declares in \`messages\``
      : `its arguments do not fit${pathsOf(data)}: send what its \`input\` takes`;
  return new EngineError(
    "BAD_TURN",
    `${to} refused ${what} (${code}), and nobody asked for the answer; ${why}. \`kind.at(key)\` checks both as you write, \`replyAs\` tells the sender.`,
  );
}

function pathsOf(data: unknown): string {
  const issues = isJsonObject(data) && Array.isArray(data["issues"]) ? data["issues"] : [];
  const paths = issues.slice(0, MOST_PATHS).flatMap((issue) => {
    const path = isJsonObject(issue) ? issue["path"] : undefined;
    return typeof path === "string" && path !== "" ? [path.slice(0, 100)] : [];
  });
  return paths.length === 0 ? "" : ` at ${paths.join(", ")}`;
}

/** The window in which crashes are counted if a kind sets none. */
const DEFAULT_WINDOW_MS = 3_600_000;
/** No more crashes are remembered. Without a bound the count is only for people to read. */
const MOST_REMEMBERED = 1_000;

interface CrashBound {
  readonly max: number;
  readonly withinMs: number;
}

/**
 * Whether an actor fails with one more crash, and the times to remember. Pure.
 *
 * | bound | crashes within the window, this one included | then |
 * |---|---|---|
 * | none | any | it continues |
 * | set | at most `max` | it continues |
 * | set | more | it fails, until `restart` |
 */
export function afterCrash(
  times: readonly number[],
  now: number,
  bound: CrashBound | undefined,
): { readonly times: readonly number[]; readonly fails: boolean } {
  const since = now - (bound?.withinMs ?? DEFAULT_WINDOW_MS);
  const within = [...times.filter((at) => at > since).slice(-MOST_REMEMBERED), now];
  return { times: within, fails: bound !== undefined && within.length > bound.max };
}
