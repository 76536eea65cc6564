// Owns: what follows from a crash or an unhandled message: failing the actor, the report to its parent, the error to log. Does not own:
// sending or logging these.
import { type ActorId, EngineError, isJsonObject, type Message, type Reply, type Row } from "../contract/index.ts";
import { hasOwn, SETTLED_ACTION } from "../contract/internal.ts";
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

const MOST_PATHS = 8;

/**
 * The error to log for a send or a wake that its receiver does not know (`UNKNOWN`) or cannot read (`INVALID`). A refusal is an
 * outcome like any other, but here no caller waits for it. Reports paths, never values. Undefined if the message was handled, or if
 * its sender requested the reply.
 */
export function unhandledMessage({ to, from, action, args, replyAs }: Message, reply: Reply | undefined): EngineError | undefined {
  if (reply === undefined || !hasOwn(reply, "refused") || (replyAs !== undefined && replyAs !== SETTLED_ACTION && from !== undefined))
    return undefined;
  // The engine sends these to every parent, which need not handle them.
  if (action === "ended" || (action === FAILED && isJsonObject(args) && args["child"] === from)) return undefined;
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
