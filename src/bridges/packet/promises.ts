import type { Behaviour, Reply, Turn } from "../../core/contract/index.ts";
import { hasOwn } from "../../core/contract/internal.ts";
import { missing } from "./required.ts";

/** Undefined: the reply has all of these fields, or is no result. */
function brokenBy(id: string, provides: readonly string[], reply: Reply): Reply | undefined {
  if (!hasOwn(reply, "ok")) return undefined;
  const lacking = missing(provides, reply.ok);
  if (lacking.length === 0) return undefined;
  const message = `${id} did not give what it promises: ${lacking.join(", ")}.`;
  return { refused: { code: "contract_violation", message, data: { missing: lacking } } };
}

/**
 * The same; a reply that lacks what a capability provides is refused, and its turn changes nothing (C3). One that a later turn or another
 * actor gives is not there yet: it is checked where it arrives (`Running`).
 */
export function withPromises<S>(
  kind: Behaviour<S>,
  id: string,
  provides: readonly string[],
  isMessage: (action: string) => boolean,
): Behaviour<S>["receive"] {
  if (provides.length === 0) return kind.receive.bind(kind);
  return (state, message, ...life) => {
    const checked = (turn: Turn<S>): Turn<S> => {
      const { reply = { ok: null }, settle, record } = turn;
      const given = reply === "later" ? settle?.[message.id]?.reply : reply;
      const broken = given === undefined ? undefined : brokenBy(id, provides, given);
      return broken === undefined ? turn : { reply: broken, ...(record !== undefined && { record }) };
    };
    const taken = kind.receive(state, message, ...life);
    if (!isMessage(message.action)) return taken;
    return typeof taken === "function" ? async (context) => checked(await taken(context)) : checked(taken);
  };
}
