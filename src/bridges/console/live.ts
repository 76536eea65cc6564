// Owns: what the server's owner gives the gateway and the engine so that the console sees clients and figures. Does not own: traffic
// (traffic.ts), and the routes.

import { type Clock, type Figures, type Gateway, type JsonObject, type Observer, systemClock } from "../../core/contract/index.ts";
import { observers } from "../../core/contract/internal.ts";
import type { TrafficRow } from "./shapes.ts";

/** Something that the server wrote to its log. */
export interface Noted {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly event: string;
  readonly fields: JsonObject;
  readonly at: number;
}

/**
 * Records what happens between clients and this server. Without a console there is none, and the gateway is not wrapped. To be disposed
 * after the gateway.
 */
export interface LiveRecorder extends Disposable {
  /** For the gateway and the engine. It observes figures only, and `beside` what it does. */
  readonly observer: Observer;
  /** The same gateway, for one transport: what goes through it is recorded. */
  gateway(gateway: Gateway, transport: TrafficRow["transport"]): Gateway;
  /** Takes what is logged: faults, slow turns, indexes. The doctor explains it. */
  note(level: Noted["level"], event: string, fields?: JsonObject): void;
  /** The figures of the gateway and the engine, summed. */
  figures(): Figures;
}

export interface LiveOptions {
  readonly clock?: Clock;
  /** Another observer, such as telemetry's. */
  readonly beside?: Observer;
}

const MOST_NOTED = 1_000;

/** Begins to record. */
export function recordLive({ clock = systemClock, beside }: LiveOptions = {}): LiveRecorder {
  const sources = new Set<() => Figures>();
  const noted: Noted[] = [];
  const own: Observer = {
    shows(figures) {
      sources.add(figures);
      return () => void sources.delete(figures);
    },
  };
  return {
    observer: observers(own, beside) ?? own,
    gateway: (gateway) => gateway,
    note(level, event, fields = {}) {
      noted.push({ level, event, fields, at: clock.now() });
      if (noted.length > MOST_NOTED) noted.shift();
    },
    figures: () => sum(Array.from(sources, (figures) => figures())),
    [Symbol.dispose]() {
      sources.clear();
      noted.length = 0;
    },
  };
}

function sum(all: readonly Figures[]): Figures {
  const total: Partial<Record<keyof Figures, number>> = {};
  for (const one of all)
    for (const name of FIGURES) {
      const value = one[name];
      if (value !== undefined) total[name] = (total[name] ?? 0) + value;
    }
  return total;
}

const FIGURES = [
  "sessions",
  "connections",
  "streams",
  "requests",
  "actors",
  "failed",
  "outbox",
  "backlog",
  "faults",
  "slowTurns",
] as const satisfies readonly (keyof Figures)[];
