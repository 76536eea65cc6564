import * as api from "@opentelemetry/api";
import type { Observer } from "troupe/contract";
import { createServer, type Server } from "troupe/server";
import { openTelemetry } from "troupe/telemetry";

export function observed(): Server {
  const server = createServer("hello", "1.0.0", { observer: openTelemetry(api) });
  return server;
}

/** Prints requests that took longer than a second. */
export function withOwnObserver(): Server {
  const slow: Observer = {
    begun({ method, name }) {
      const start = performance.now();
      return {
        during: (act) => act(),
        ended(failure) {
          const ms = performance.now() - start;
          const outcome = failure === undefined ? "" : `, and failed: ${failure.kind}`;
          if (ms > 1_000) console.error(`${method} ${name ?? ""} took ${Math.round(ms)} ms${outcome}`);
        },
      };
    },
  };
  const server = createServer("hello", "1.0.0", { observer: slow });
  return server;
}
