import { EngineError, isBag, type Message, type Reply } from "../contract/index.ts";
import { FAILED } from "./told-failed.ts";
import { hasOwn } from "../contract/internal.ts";

const MOST_PATHS = 8;

/**
 * What a log is told of a send or a wake that its receiver does not know (`UNKNOWN`) or cannot read (`INVALID`): a refusal is an
 * outcome like any other, but here nobody waits for it. Paths are told, never values. Undefined: it was understood, or its sender
 * asked for the answer.
 */
export function misunderstood({ to, from, action, args, replyAs }: Message, reply: Reply | undefined): EngineError | undefined {
  if (reply === undefined || !hasOwn(reply, "refused") || (replyAs !== undefined && from !== undefined)) return undefined;
  // The engine's own words to a parent, who need not listen.
  if (action === "ended" || (action === FAILED && isBag(args) && args["child"] === from)) return undefined;
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
  const issues = isBag(data) && Array.isArray(data["issues"]) ? data["issues"] : [];
  const paths = issues.slice(0, MOST_PATHS).flatMap((issue) => {
    const path = isBag(issue) ? issue["path"] : undefined;
    return typeof path === "string" && path !== "" ? [path.slice(0, 100)] : [];
  });
  return paths.length === 0 ? "" : ` at ${paths.join(", ")}`;
}
