// Owns: full-text search as a capability: `<id>_search` for each capability with searchable fields. Does not own: the index (search/).
import { keyOf } from "../../core/actor/index.ts";
import { type ActorId, type Closable, type Engine, type Json, type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { getOwn, omitUndefined } from "../../core/contract/internal.ts";
import type { Acts, Capability, ExecutionContext } from "./capability.ts";
import { capability } from "./define-capability.ts";
import { PacketError } from "./packet.ts";
import { type Hit, type Search, type SearchOptions, searchIndex } from "./search/search.ts";
import type { SearchKind } from "./search/searchable-fields.ts";
import { checkedActorId } from "./visible-actors.ts";

/** How long a search waits for the most recent messages to be indexed. */
const RECENT_WAIT_MS = 500;

/** What an index reads of a capability's actors. */
const searchKind = ({ behaviour: { kind, policy }, search: fields }: Acts): SearchKind => ({
  kind,
  policy,
  fields,
  payload: (args) => (isJsonObject(args) ? getOwn(args, "payload") : undefined),
});

export interface Searches extends Closable {
  /** `<id>_search`, for each capability with searchable fields. */
  readonly capabilities: readonly Capability[];
  /** Searches the messages to these actors, of all owners. Throws `PacketError`. */
  find(query: string, options: Pick<SearchOptions, "actor" | "limit">): Promise<readonly Hit[]>;
  /** Events of these actors were erased, or the actors removed: reindexes them in the background. */
  erased(ids: readonly ActorId[]): void;
}

/** Undefined if nothing is searchable. `file`: the file of the index, or ":memory:". */
export function searchesOf(
  capabilities: readonly Capability[],
  engine: Engine,
  file: string,
  onFault?: (error: unknown) => void,
): Searches | undefined {
  const searchable = capabilities.flatMap((of) => (of.does.how === "actor" && of.does.search.length > 0 ? [{ of, does: of.does }] : []));
  if (searchable.length === 0) return undefined;
  const kinds = searchable.map(({ does }) => searchKind(does));
  const search = searchIndex({ engine, file, kinds, onFault: (error) => onFault?.(error) });
  return {
    capabilities: searchable.map(({ of, does }) => searchCapability(of, does, search, engine)),
    find: (query, found) => search.search(query, { ...found, owner: undefined, everyone: true }),
    erased(ids) {
      for (const id of ids) search.rebuild(id).catch((error: unknown) => onFault?.(error));
    },
    close: () => search.close(),
    [Symbol.asyncDispose]: () => search.close(),
  };
}

function searchCapability(of: Capability, does: Acts, search: Search, engine: Engine): Capability {
  const { kind } = does.behaviour;
  return capability(`${of.id}_search`, {
    intent: `Search what was said to ${of.id}: ${of.intent}`,
    requires: ["query"],
    provides: ["hits"],
    parameters: {
      type: "object",
      properties: {
        query: {
          type: "string",
          minLength: 1,
          maxLength: 512,
          description: 'All of these words; "a phrase"; the beginning of a word: begin*',
        },
        actor_id: { type: "string", description: "Of that actor alone. Absent: of all of your own" },
        limit: { type: "integer", minimum: 1, maximum: 50, default: 10 },
      },
      required: ["query"],
    },
    async execute(payload: JsonObject, { viewer }: ExecutionContext) {
      const { query, actor_id, limit } = payload;
      if (
        typeof query !== "string" ||
        (actor_id !== undefined && typeof actor_id !== "string") ||
        (limit !== undefined && typeof limit !== "number")
      )
        throw new PacketError("validation_failed", "query and actor_id are text, limit is a number.");
      const actor = actor_id === undefined ? undefined : checkedActorId(kind, actor_id);
      await waitForRecent(search, engine, actor);
      const hits = await search.search(query, {
        owner: viewer.principal,
        kind,
        ...omitUndefined({ actor, limit }),
      });
      const found: Json = hits.map(({ actor: id, seq, event, at, field, snippet, score }) => ({
        actor_id: keyOf(id),
        seq,
        event,
        at: new Date(at).toISOString(),
        field,
        snippet,
        score,
      }));
      return { hits: found };
    },
  });
}

/** Waits briefly, so that users find what they have just written. An index that lags further is searched as it is. */
async function waitForRecent(search: Search, engine: Engine, actor: ActorId | undefined): Promise<void> {
  try {
    if (actor === undefined) await search.caughtUp(undefined, 0, RECENT_WAIT_MS);
    else await search.caughtUp(actor, (await engine.read(actor))?.seq ?? 0, RECENT_WAIT_MS);
  } catch (error) {
    if (!(error instanceof PacketError) || error.type !== "persistence_failed") throw error;
  }
}
