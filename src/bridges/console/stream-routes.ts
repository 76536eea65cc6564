// Owns: `GET /stream`: figures, changes, traffic and the log as they come, to a page that may read slowly. Does not own: these data.

import { type ActorId, type Change, systemClock } from "../../core/contract/index.ts";
import type { ConsoleData, RunningServer } from "./data.ts";
import { logRow } from "./log-book.ts";
import { overviewOf } from "./overview.ts";
import { actorIn, badRequest, textIn } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import type { Changes, LogBatch, TrafficBatch } from "./shapes.ts";

const TICK_MS = 250;
const TICKS_A_FIGURE = 4;
const MOST_CHANGES = 500;
/** Of messages, or of entries of the log, at once. */
const MOST_ROWS = 200;
const WATCHED = ["figures", "changes", "traffic", "log"] as const;

export const streamRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/stream",
    summary:
      "Server-sent events until the client leaves: `figures` once a second, `change`, `traffic` and `log` at most four times a second.",
    query: {
      watch: { description: "Which of figures, changes, traffic and log, separated by commas. Default: figures." },
      actor: { description: "Only changes of this actor: kind/key.", schema: { type: "string" } },
      kind: { description: "Only changes of actors of this kind.", schema: { type: "string", pattern: "^[a-z][a-z0-9-]{0,63}$" } },
    },
    answers: "Overview | Changes | TrafficBatch | LogBatch",
    streams: true,
    handle: follow,
  },
];

async function follow(request: ConsoleRequest, data: ConsoleData): Promise<null> {
  const watched = watchedIn(request);
  await using ended = new AsyncDisposableStack();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  request.disconnected.addEventListener("abort", () => end(), { once: true });
  if (request.disconnected.aborted) end();
  if (data.live !== undefined) ended.defer(data.live.onEnd(end));
  if (watched.has("changes")) {
    const changes = new ChangeBatches(data.running, topicIn(request));
    ended.defer(() => changes.close());
    ended.defer(every(TICK_MS, () => changes.emit(request)));
  }
  if (watched.has("traffic") && data.live !== undefined) {
    const { rows } = data.live.traffic;
    const changed = (seen: number): TrafficBatch =>
      batchOf(
        rows.newest(),
        ({ stamp }) => stamp > seen,
        (row) => row.row(),
      );
    ended.defer(emitNew(request, "traffic", () => rows.stamp, changed));
  }
  if (watched.has("log") && data.live !== undefined) {
    const { log } = data.live;
    const added = (seen: number): LogBatch => batchOf(log.newest(), ({ n }) => n > seen, logRow);
    ended.defer(emitNew(request, "log", () => log.last, added));
  }
  if (watched.has("figures")) {
    const emit = async (): Promise<void> => {
      if (!request.ready) return;
      const overview = await overviewOf(data).read();
      request.emit("figures", overview);
    };
    await emit();
    ended.defer(every(TICK_MS * TICKS_A_FIGURE, () => void emit().catch(() => undefined)));
  }
  await over;
  return null;
}

/** Throws `BAD_REQUEST`. */
function watchedIn({ query }: ConsoleRequest): ReadonlySet<(typeof WATCHED)[number]> {
  const names = (query.get("watch") ?? "figures").split(",");
  const found = WATCHED.filter((one) => names.includes(one));
  if (found.length === names.length) return new Set(found);
  throw badRequest(`watch must be some of ${WATCHED.join(", ")}, separated by commas.`);
}

/** Throws `BAD_REQUEST`. */
function topicIn(request: ConsoleRequest): ActorId | `${string}/*` {
  return actorIn(request) ?? `${textIn(request, "kind") ?? "*"}/*`;
}

/** Calls it again and again. Returns its undo. */
function every(ms: number, run: () => void): () => void {
  let undo = systemClock.after(ms, again);
  function again(): void {
    run();
    undo = systemClock.after(ms, again);
  }
  return () => undo();
}

/** Emits what is new since the last time, while the client reads. `stamp` grows with what is new. Returns its undo. */
function emitNew(request: ConsoleRequest, event: string, stamp: () => number, since: (seen: number) => object): () => void {
  let seen = stamp();
  return every(TICK_MS, () => {
    if (stamp() === seen || !request.ready) return;
    const batch = since(seen);
    seen = stamp();
    request.emit(event, batch);
  });
}

/** The newest of those that are new, in their order. Others are counted. */
function batchOf<T, R>(
  newest: Iterable<T>,
  isNew: (one: T) => boolean,
  row: (one: T) => R,
): { readonly items: readonly R[]; readonly more: number } {
  const items: R[] = [];
  let more = 0;
  for (const one of newest) {
    if (!isNew(one)) continue;
    if (items.length < MOST_ROWS) items.push(row(one));
    else more += 1;
  }
  return { items: items.toReversed(), more };
}

/** Which actors changed since the last event. Bounded however many change, and however slowly it is read. */
class ChangeBatches {
  readonly #running: (() => RunningServer) | undefined;
  readonly #topic: ActorId | `${string}/*`;
  readonly #changed = new Map<ActorId, Changes["items"][number]>();
  #more = 0;
  #engine: RunningServer["engine"] | undefined;
  #unwatch: (() => void) | undefined;

  constructor(running: (() => RunningServer) | undefined, topic: ActorId | `${string}/*`) {
    this.#running = running;
    this.#topic = topic;
    this.#watch();
  }

  // In development the engine is another one after each reload.
  #watch(): void {
    const engine = this.#running?.().engine;
    if (engine === this.#engine) return;
    this.#unwatch?.();
    this.#engine = engine;
    this.#unwatch = engine?.watch(this.#topic, this.#take);
  }

  readonly #take = ({ id, seq, status }: Change): void => {
    if (this.#changed.size < MOST_CHANGES || this.#changed.has(id)) this.#changed.set(id, { id, seq, status });
    else this.#more += 1;
  };

  emit(request: ConsoleRequest): void {
    this.#watch();
    if (this.#changed.size === 0 || !request.ready) return;
    const changes: Changes = { items: Array.from(this.#changed.values()), more: this.#more };
    this.#changed.clear();
    this.#more = 0;
    request.emit("change", changes);
  }

  close(): void {
    this.#unwatch?.();
  }
}
