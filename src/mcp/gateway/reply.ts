import type { Bag } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";
import type { Members } from "./call.ts";
import type { RequestId } from "./json-rpc.ts";
import type { Page } from "./pages.ts";

/** A complete JSON-RPC response around members that are text already; a page in the middle is never copied. */
export interface ReplyText {
  readonly head: string;
  readonly members: string | Page;
  readonly tail: string;
}

const idText = (id: RequestId): string => (typeof id === "number" ? String(id) : JSON.stringify(id));

/** As legacy revisions have it: the members, and `_meta` where there is any. */
export function legacyReply(id: RequestId, { members, meta }: Members): ReplyText {
  const comma = members === "" ? "" : ",";
  return {
    head: `{"jsonrpc":"2.0","id":${idText(id)},"result":{`,
    members,
    tail: `${metaText(comma, meta)}}}`,
  };
}

/** None where nothing is said in it. */
function metaText(comma: string, meta: Bag | undefined): string {
  const text = meta === undefined ? "{}" : JSON.stringify(meta);
  return text === "{}" ? "" : `${comma}"_meta":${text}`;
}

const tailsOf = memoize((_serverMeta: Bag) => new Map<string, string>());

// Who answers is the same every time, and of hints there are a few: a page sees by the same text at once that it has this end already.
function tailOf(serverMeta: Bag, extra: string): string {
  const known = tailsOf(serverMeta);
  let tail = known.get(extra);
  if (tail === undefined) known.set(extra, (tail = `${extra}${metaText(",", serverMeta)}}}`));
  return tail;
}

/** As 2026-07-28 has it: its type first, what `extra` says (cache hints), and `_meta` with who answered. */
export function modernReply(
  id: RequestId,
  { members, meta }: Members,
  type: "complete" | "input_required" | "task",
  extra: string,
  serverMeta: Bag,
): ReplyText {
  const comma = members === "" ? "" : ",";
  return {
    head: `{"jsonrpc":"2.0","id":${idText(id)},"result":{"resultType":"${type}"${comma}`,
    members,
    tail: meta === undefined ? tailOf(serverMeta, extra) : `${extra}${metaText(",", { ...serverMeta, ...meta })}}}`,
  };
}

export function wholeText({ head, members, tail }: ReplyText): string {
  return head + (typeof members === "string" ? members : members.text) + tail;
}

export function pieces({ head, members, tail }: ReplyText): string | readonly (string | Uint8Array)[] {
  return typeof members === "string" ? head + members + tail : [head, members.before(tail)];
}
