// Owns: what the requests of one gateway share, and on whose behalf they act. Does not own: one request (call.ts).
import type { JsonObject, Caller, Surface, Viewer } from "../../core/contract/index.ts";
import type { InFlightMemoryBudget, Lru } from "../../core/contract/internal.ts";
import type { ListMode } from "../source/index.ts";
import type { PendingReplies, SilentCalls, WorkCounter } from "./active-requests.ts";
import type { Method } from "./call.ts";
import { Fault } from "./errors.ts";
import type { SentEvents } from "./legacy/resumable-stream.ts";
import type { Settings } from "./options.ts";
import type { Tasks } from "./tasks.ts";

/** A stream that stays open until its client, or a drain, ends it. */
export interface OpenEnded {
  /** Ends it by the server's own decision. */
  finish(): void;
}

/** What the requests of one gateway share. */
export interface Core {
  readonly settings: Settings;
  /** The `_meta` of every result of 2026-07-28. */
  readonly serverMeta: JsonObject;
  readonly work: WorkCounter;
  /** Replies that are still being worked on; those left when a drain's grace is over are answered then. */
  readonly pending: PendingReplies;
  /** Listen requests and standalone streams. */
  readonly openStreams: Set<OpenEnded>;
  /** Absent: every caller waits for its call. */
  readonly tasks: Tasks | undefined;
  readonly sentEvents: SentEvents;
  /** Calls over HTTP whose response has not begun yet. */
  readonly silentCalls: SilentCalls;
  /** Bounds what the messages take that are being worked on. */
  readonly memory: InFlightMemoryBudget;
  /** What abandons each open connection: nothing that waits for its client waits any longer. */
  readonly connections: Set<() => void>;
  readonly methods: ReadonlyMap<string, Method>;
  /** Calls of 2026-07-28 that wait for their client's next round: the signature of its `requestState`, and how many rounds more are part of the call. */
  readonly openCalls: Lru<string, number>;
  /** Takes a token of the caller's rate limit. Throws `RATE`. */
  readonly limit: (caller: Caller, viewer?: Viewer) => void;
  /** Throws `DRAINING` once no new work is taken. */
  readonly admit: () => void;
}

/** The mode of lists taken from a surface: where the catalogue is not known in advance, a static list would promise too much. */
export function listModeFor(surface: Surface, wanted: ListMode): ListMode {
  return wanted === "static" && surface.links !== undefined && surface.catalogue.links === undefined ? "dynamic" : wanted;
}

/** Who is behind a request. Era, connection and the mode of lists end here: an actor sees the viewer only. */
export function viewerOf(caller: Caller, standIn: string | undefined): Viewer {
  const { scopes, claims } = caller;
  const principal = caller.principal ?? standIn;
  if (claims === undefined) return principal === undefined ? { scopes } : { principal, scopes };
  return principal === undefined ? { scopes, claims } : { principal, scopes, claims };
}

export const draining = (): Fault =>
  new Fault("DRAINING", "The server is shutting down; connect again in a moment.", { headers: { "retry-after": "1" } });
