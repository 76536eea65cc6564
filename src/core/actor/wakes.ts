import type { Policy, Wake } from "../contract/index.ts";
import { badTurn } from "./bad-turn.ts";
import type { WakeOptions } from "./context-types.ts";
import { readArgs } from "./decide.ts";
import { plain } from "./plain.ts";
import type { Act } from "./act.ts";
import { describeIssues } from "../schema/index.ts";

/** What a wake needs to know of its kind. */
export type Wakeful = Pick<ReadonlyMap<string, Act>, "has" | "get"> & Pick<Policy, "minEveryMs">;

/** A wake as its author wrote it, checked where the author sees it and not when it rings. `now` in milliseconds since 1970. */
export function wakeOf(name: string, options: WakeOptions | undefined, now: number, kind: Wakeful): Wake {
  const { at, afterMs, everyMs, action, args } = options ?? { afterMs: Number.NaN, action: "" };
  const where = `wake(${JSON.stringify(name.slice(0, 60))})`;
  const when = at ?? now + afterMs;
  if (!Number.isFinite(when)) throw badTurn(`${where}: \`at\` or \`afterMs\` must be a number of milliseconds.`);
  const act = kind.get(action);
  if (act === undefined) {
    throw badTurn(`${where} names the action ${JSON.stringify(action)}, which this kind does not have: declare it in \`messages\`.`);
  }
  if (act.replies)
    throw badTurn(`${where} names ${JSON.stringify(action)}, which brings replies (\`replies: true\`): give it a message of its own.`);
  // One that hardly rests would fill the disk, and leave the actor no time for anything else.
  if (everyMs !== undefined && !(Number.isFinite(everyMs) && everyMs >= kind.minEveryMs)) {
    throw badTurn(
      `${where}: \`everyMs\` must be at least ${kind.minEveryMs} milliseconds, as this kind's policy has it: wait longer, or give the kind a \`minEveryMs\`.`,
    );
  }
  const given = args === undefined ? undefined : plain(args, "the arguments of a wake");
  // When it rings nobody is told: what its message cannot read is refused here.
  const { issues } = readArgs(act, given);
  if (issues !== undefined)
    throw badTurn(`${where}: its \`args\` are none that ${JSON.stringify(action)} takes: ${describeIssues(issues)}.`);
  return { at: when, action, ...(everyMs !== undefined && { everyMs }), ...(given !== undefined && { args: given }) };
}

/** The name itself. */
export function wakeName(name: string): string {
  if (typeof name === "string" && name !== "" && name !== "__proto__" && name.length <= 256) return name;
  throw badTurn(
    `${typeof name === "string" ? JSON.stringify(name.slice(0, 60)) : String(name)} is no name for a wake: use 1 to 256 characters.`,
  );
}
