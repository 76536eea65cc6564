import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ActorId,
  type Behaviour,
  DEFAULT_POLICY,
  type Engine,
  type Json,
  type Policy,
  type Reply,
} from "../../../core/contract/index.ts";
import type { Search, SearchOptions } from "./search.ts";
import type { SearchKind } from "./searchable-fields.ts";

/** Counts messages, and replies with the `answer` in them: `{ text, answer }`. */
export const notes = (kind: string, policy: Partial<Policy> = {}): Behaviour<number> => ({
  kind,
  version: 1,
  policy: { ...DEFAULT_POLICY, ...policy },
  initial: () => 0,
  receive(state, { action, args }) {
    const answer = typeof args === "object" && args !== null && "answer" in args ? args["answer"] : undefined;
    return { state: state + 1, reply: { ok: answer ?? null }, ...(action === "end" ? { stop: "end" } : {}) };
  },
});

export const searched = (
  { kind, policy }: Behaviour<number>,
  fields: readonly string[] = ["text", "title", "notes.*.text"],
): SearchKind => ({
  kind,
  policy,
  fields,
});

/** Each actor belongs to the user who started it. */
export const diary = notes("diary", { owner: "starter" });
export const board = notes("board");
export const chat = notes("chat", { owner: "starter", persistence: "memory" });
export const kinds = [diary, board, chat].map((kind) => searched(kind));

export const tell = (engine: Engine, to: ActorId, args: Json, principal?: string, action = "note"): Promise<Reply> =>
  engine.call({ to, action, args, start: null, viewer: { scopes: [], ...(principal === undefined ? {} : { principal }) } });

/** The hits as `actor#seq`. */
export async function found(
  search: Search,
  query: string,
  owner?: string,
  options: Partial<SearchOptions> = {},
): Promise<readonly string[]> {
  const hits = await search.search(query, { owner, limit: 50, ...options });
  return hits.map(({ actor, seq }) => `${actor}#${seq}`);
}

/** A directory that is deleted at the end. */
export function folder(): { readonly path: (name: string) => string } & Disposable {
  const directory = mkdtempSync(join(tmpdir(), "troupe-search-"));
  return { path: (name) => join(directory, name), [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}
