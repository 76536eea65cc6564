// Owns: the one connection on which the server tells this tab what happens, and who listens to it. Does not own: requests (api.ts).
import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Changes, LogBatch, Overview, TrafficBatch } from "../../src/bridges/console/shapes.ts";
import { ApiError, events } from "./api.ts";
import { token } from "./session.ts";
import { wait } from "./wait.ts";

/** What `GET /stream` can watch: the name of the event, and its data. */
export interface StreamEvents {
  readonly figures: Overview;
  readonly change: Changes;
  readonly traffic: TrafficBatch;
  readonly log: LogBatch;
}

/** Of `change`: only this actor, or this kind. */
export interface StreamFilter {
  readonly actor?: string;
  readonly kind?: string;
}

interface Listener {
  readonly event: keyof StreamEvents;
  readonly filter: StreamFilter;
  /** The data as JSON. */
  readonly take: (data: string) => void;
  /** Something may have been missed: it loads anew. */
  readonly missed: () => void;
}

/** `idle`: nothing listens. `lost`: it tries again by itself. */
export const connection = signal<"idle" | "connecting" | "open" | "lost">("idle");

/** While it is true nothing is delivered, in any page. Afterwards each page loads what it missed. */
export const paused = signal(false);

const WATCH: Readonly<Record<keyof StreamEvents, string>> = { figures: "figures", change: "changes", traffic: "traffic", log: "log" };
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000] as const;

const listeners = new Set<Listener>();
let current = "";
let running: AbortController | undefined;
let settling = false;

/** What is requested of the server: the union of what is listened to. A filter is used only if it is the same for all. */
function wanted(): string {
  const watch = new Set<string>();
  const filters = new Set<string>();
  for (const { event, filter } of listeners) {
    watch.add(WATCH[event]);
    if (event === "change") filters.add(new URLSearchParams({ ...filter }).toString());
  }
  if (watch.size === 0) return "";
  const [only = ""] = filters;
  const filter = filters.size === 1 && only !== "" ? `&${only}` : "";
  return `watch=${[...watch].toSorted().join(",")}${filter}`;
}

/** After the present task: a page that closes and one that opens need one new connection, not two. */
function settle(): void {
  if (settling) return;
  settling = true;
  queueMicrotask(() => {
    settling = false;
    const next = wanted();
    if (next === current) return;
    current = next;
    running?.abort();
    running = undefined;
    if (next === "") {
      connection.value = "idle";
      return;
    }
    running = new AbortController();
    void connect(next, running.signal);
  });
}

async function connect(query: string, ended: AbortSignal): Promise<void> {
  connection.value = "connecting";
  let again = false;
  for (let attempt = 0; !ended.aborted; attempt += 1) {
    const opened = (): void => {
      connection.value = "open";
      attempt = 0;
      if (again) for (const listener of listeners) listener.missed();
    };
    try {
      for await (const { event, data } of events(`/stream?${query}`, { signal: ended, opened })) {
        if (paused.value) continue;
        for (const listener of listeners) if (listener.event === event) listener.take(data);
      }
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return;
    }
    if (ended.aborted) return;
    again = true;
    connection.value = "lost";
    await wait(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0, ended).catch(() => undefined);
  }
}

let wasPaused = false;
effect(() => {
  const now = paused.value;
  if (wasPaused && !now) for (const listener of listeners) listener.missed();
  wasPaused = now;
});

// Another token means another connection.
effect(() => {
  void token.value;
  running?.abort();
  running = undefined;
  current = "";
  settle();
});

/** Listens while the page is open. `missed` is called after a lost connection and after a pause. */
export function useStream<E extends keyof StreamEvents>(
  event: E,
  take: (data: StreamEvents[E]) => void,
  { actor, kind, missed }: StreamFilter & { readonly missed?: () => void } = {},
): void {
  const latest = useRef({ take, missed });
  latest.current = { take, missed };
  useEffect(() => {
    const listener: Listener = {
      event,
      filter: { ...(actor === undefined ? {} : { actor }), ...(kind === undefined ? {} : { kind }) },
      take: (data) => latest.current.take(JSON.parse(data)),
      missed: () => latest.current.missed?.(),
    };
    listeners.add(listener);
    settle();
    return () => {
      listeners.delete(listener);
      settle();
    };
  }, [event, actor, kind]);
}
