// Owns: reads over actors: lists, counts, histories, events. Does not own: reads inside handlers (actor-reads.ts), writes.
import { scopedKey } from "../../core/chain/internal.ts";
import { readHeader } from "../../core/chain/index.ts";
import {
  EngineError,
  type ActorId,
  type Change,
  type ChainEvent,
  type Clock,
  type ListQuery,
  type Snapshot,
  type Viewer,
} from "../../core/contract/index.ts";
import { checkWholeNumber, wholeLimit, isAddress, kindOf, omitUndefined } from "../../core/contract/internal.ts";
import type { AdminApi, EventLocation } from "./admin-api.ts";
import { claimKey } from "./commit.ts";
import { CLAIMS, actorsOfKind, actorsOfOwner, UIDS, type DirectoryMap } from "./directory.ts";
import type { Handler } from "./durable-context.ts";
import { isObject } from "./handler-inputs.ts";
import { isEvents, isStoredReply } from "./stored-actor.ts";
import type { ReplyState } from "./waiting-callers.ts";
import type { MapClient, ShardedMap } from "./map-client.ts";
import type { Names } from "./names.ts";
import { isSnapshot, isActorHead, type OwnedHead } from "./outcome.ts";
import { unexpectedAnswer, type GuardedIngress, wait } from "./ingress.ts";
import type { RecentEvents } from "./actor-reads.ts";

export interface QueriesHost {
  readonly reads: GuardedIngress;
  readonly names: Names;
  readonly maps: MapClient;
  readonly kinds: readonly string[];
  /** The clock of retries. */
  readonly patience: Clock;
  readonly admin: AdminApi;
}

const CONCURRENCY = 16;
const PAGE = 500;
const MAX_IDS = 1_000;
const FIRST_PAUSE_MS = 4;
/** An event that left an actor's own key is in the archive within this time. */
const ARCHIVE_DELAY_MS = 30_000;

export class Queries {
  readonly #host: QueriesHost;
  readonly #kinds: readonly string[];

  constructor(host: QueriesHost) {
    this.#host = host;
    this.#kinds = host.kinds.toSorted();
  }

  async read(id: ActorId): Promise<Snapshot | undefined> {
    const answer = await this.#ask(this.#host.names.actor(id, "read"), null);
    if (answer === null) return undefined;
    if (!isSnapshot(answer)) throw unexpectedAnswer({ object: id });
    return answer;
  }

  async head(id: ActorId): Promise<OwnedHead | undefined> {
    const answer = await this.#ask(this.#host.names.actor(id, "head"), null);
    if (answer === null) return undefined;
    if (!isActorHead(answer)) throw unexpectedAnswer({ object: id });
    return answer;
  }

  /** True if a registered deployment serves the kind. */
  isServed(kind: string): Promise<boolean> {
    return this.#host.admin.serves(this.#host.names.actors(kind));
  }

  async replyState(id: ActorId, key: string): Promise<ReplyState> {
    const answer = await this.#ask(this.#host.names.actor(id, "reply"), key);
    if (!isObject(answer)) throw unexpectedAnswer({ object: id });
    return { reply: isStoredReply(answer["reply"]) ? answer["reply"] : undefined, pending: answer["pending"] === true };
  }

  async list({ kind, owner, live, after, limit: given }: ListQuery): Promise<readonly Change[]> {
    const limit = wholeLimit(given);
    const found: Change[] = [];
    for (const one of kind === undefined ? this.#kinds : [kind]) {
      // In the order of kinds, then of keys.
      if (after !== undefined && one < kindOf(after)) continue;
      const from = after !== undefined && one === kindOf(after) ? after : undefined;
      const map = this.#map(owner === undefined ? actorsOfKind(one) : actorsOfOwner(owner));
      let last: string | undefined = from;
      for (let least = CONCURRENCY; found.length < limit; least *= 2) {
        // Each is read, so no more than are needed. Some may not count: if most do not, the pages grow.
        const size = Math.min(Math.max(limit - found.length, least), PAGE);
        const entries = await map.list({ prefix: `${one}/`, limit: size, after: last });
        const ids = entries.map(([key]) => key).filter(isAddress);
        const heads = await this.#heads(ids);
        for (const [n, head] of heads.entries()) {
          const id = ids[n];
          if (id === undefined || head === undefined || (owner !== undefined && head.owner !== owner)) continue;
          const { seq, head: event, status } = head;
          if (live === true && status === "stopped") continue;
          if (found.length < limit) found.push({ id, seq, head: event, status });
        }
        if (entries.length < size) break;
        last = entries.at(-1)?.[0];
      }
    }
    return found;
  }

  /** Ids in the directory, in order, including actors that have stopped or never started. */
  async ids(kind: string, after?: ActorId, limit = MAX_IDS): Promise<readonly ActorId[]> {
    const entries = await this.#map(actorsOfKind(kind)).list({ limit, after });
    return entries.map(([key]) => key).filter(isAddress);
  }

  async count({ kind, owner, live }: Omit<ListQuery, "after" | "limit">): Promise<number> {
    if (live === true) return this.#countLive(omitUndefined({ kind, owner }));
    if (owner === undefined) {
      const counts = (kind === undefined ? this.#kinds : [kind]).map((one) => this.#map(actorsOfKind(one)).count());
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    }
    const map = this.#map(actorsOfOwner(owner));
    if (kind === undefined) return map.count();
    let count = 0;
    for await (const _ of map.all({ prefix: `${kind}/`, page: PAGE })) count += 1;
    return count;
  }

  /** Only an actor's own key tells whether it is live. */
  async #countLive(query: Pick<ListQuery, "kind" | "owner">): Promise<number> {
    let count = 0;
    for (let after: ActorId | undefined; ;) {
      const page = await this.list({ ...query, live: true, limit: PAGE, ...omitUndefined({ after }) });
      count += page.length;
      if (page.length < PAGE) return count;
      after = page.at(-1)?.id;
    }
  }

  async find(uid: string): Promise<ActorId | undefined> {
    if (uid === "" || uid.length > 256) return undefined;
    const found = await this.#map(UIDS).get(uid);
    return typeof found === "string" && isAddress(found) ? found : undefined;
  }

  /** C4: the actor that took that call. */
  async keyedCall(kind: string, viewer: Viewer, key: string, now: number): Promise<ActorId | undefined> {
    const claim = await this.#map(CLAIMS).get(claimKey(kind, scopedKey(viewer, undefined, key)));
    if (!isObject(claim)) return undefined;
    const { id, until } = claim;
    return typeof id === "string" && isAddress(id) && typeof until === "number" && until > now ? id : undefined;
  }

  async *history(id: ActorId, afterSeq: number): AsyncGenerator<ChainEvent, void, undefined> {
    checkWholeNumber("afterSeq", afterSeq, -Infinity);
    let seq = Math.max(0, afterSeq);
    for (;;) {
      const { events, archived } = await this.#recent(id, seq);
      while (seq < archived)
        for (const event of await this.#archived(id, seq)) {
          if (seq >= archived) break;
          seq += 1;
          yield event;
        }
      // The actor may have new events since the archive was read.
      for (const event of events) {
        seq += 1;
        yield event;
      }
      if (events.length === 0) return;
    }
  }

  async event(eventId: string): Promise<ChainEvent | undefined> {
    for (const location of await this.#host.admin.locationsOf(eventId)) {
      const found = (await this.#eventsNear(location)).find((event) => event.id === eventId);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async caused(eventId: string): Promise<readonly ChainEvent[]> {
    const found = new Map<string, ChainEvent>();
    for (const location of await this.#host.admin.locationsOf(eventId))
      for (const event of await this.#eventsNear(location)) if (readHeader(event).cause === eventId) found.set(event.id, event);
    const order = [...found.values()].map((event) => ({ event, header: readHeader(event) }));
    order.sort((one, other) => one.header.at - other.header.at || one.header.seq - other.header.seq);
    return order.slice(0, MAX_IDS).map(({ event }) => event);
  }

  async #eventsNear({ id, archived }: EventLocation): Promise<readonly ChainEvent[]> {
    if (archived === undefined) return (await this.#recent(id, 0)).events;
    const found: ChainEvent[] = [];
    // One answer may not contain all of them.
    for (let { after } = archived; after < archived.until;) {
      const answer = await this.#ask(this.#host.names.archive(id, "events"), after);
      if (!isEvents(answer) || answer.length === 0) break;
      found.push(...answer);
      after += answer.length;
    }
    return found;
  }

  /** If `seq` is not archived, the events after it. Otherwise all events of the actor's own key. */
  async #recent(id: ActorId, seq: number): Promise<RecentEvents> {
    const answer = await this.#ask(this.#host.names.actor(id, "events"), seq);
    if (!isObject(answer) || !isEvents(answer["events"]) || typeof answer["archived"] !== "number") throw unexpectedAnswer({ object: id });
    return { events: answer["events"], archived: answer["archived"] };
  }

  /** What left the actor's own key is sent to its archive in the same write, and arrives a moment later. */
  async #archived(id: ActorId, seq: number): Promise<readonly ChainEvent[]> {
    const { patience, names } = this.#host;
    const givesUpAt = patience.now() + ARCHIVE_DELAY_MS;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      const events = await this.#ask(names.archive(id, "events"), seq);
      if (!isEvents(events)) throw unexpectedAnswer({ object: id });
      if (events.length > 0) return events;
      if (patience.now() > givesUpAt) throw notArchived(id, seq + 1);
      await wait(patience, pauseMs);
    }
  }

  async #heads(ids: readonly ActorId[]): Promise<readonly (OwnedHead | undefined)[]> {
    const heads: (OwnedHead | undefined)[] = [];
    for (let at = 0; at < ids.length; at += CONCURRENCY)
      heads.push(...(await Promise.all(ids.slice(at, at + CONCURRENCY).map((id) => this.head(id)))));
    return heads;
  }

  #ask(to: Handler, input: unknown): Promise<unknown> {
    return this.#host.reads.read({ ...to, input });
  }

  #map({ name, shards }: DirectoryMap): ShardedMap {
    return this.#host.maps.shardedMap(name, shards);
  }
}

const notArchived = (id: ActorId, seq: number): EngineError =>
  new EngineError(
    "STORE_IO",
    `Event ${seq} of ${id} has not come to its archive: see that its nodes and the Restate server are up, then ask again.`,
  );
