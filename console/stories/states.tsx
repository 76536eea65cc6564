// Owns: stories of small parts: words, times, and what stands where data is not there.
import { ApiError } from "../src/api.ts";
import { awaySince } from "../src/reachability.ts";
import { ActorLink, EventLink } from "../src/ui/actor-link.tsx";
import { Badge } from "../src/ui/badge.tsx";
import { ConnectionBanner } from "../src/ui/connection-banner.tsx";
import { CopyButton } from "../src/ui/copy.tsx";
import { Progress } from "../src/ui/progress.tsx";
import { Empty, ErrorNote, Loading, Unavailable } from "../src/ui/states.tsx";
import { bytes, duration, Time } from "../src/ui/time.tsx";
import type { Stories } from "./main.tsx";

const WORDS = [
  "live",
  "ok",
  "on",
  "verified",
  "connected",
  "failed",
  "error",
  "tool-error",
  "stopped",
  "off",
  "cancelled",
  "warning",
  "running",
];
const LONG = `incident/${encodeURIComponent("a very long key with spaces, ünïcödé and no end ".repeat(4))}`;

awaySince.value = Date.UTC(2026, 10, 29, 4);

export const stateStories: Stories = {
  Badge: () => (
    <p class="row">
      {WORDS.map((word) => (
        <Badge key={word} word={word} />
      ))}
    </p>
  ),
  Links: () => (
    <p class="row">
      <ActorLink id="counter/main" /> <ActorLink id={LONG} /> <EventLink id={"0123456789abcdef".repeat(4)} />
    </p>
  ),
  Times: () => (
    <p class="row">
      <Time at={Date.now()} /> <Time at={Date.UTC(2020, 1, 29)} /> {[0.04, 12, 900, 3_200, 300_000, 9e6].map(duration).join(" · ")} ·{" "}
      {[0, 812, 3_500, 1.3e6, 5e9].map(bytes).join(" · ")}
    </p>
  ),
  Loading: () => <Loading what="the actors" />,
  Error: () => (
    <ErrorNote
      error={new ApiError("NO_ACTOR", "There is no actor counter/nobody: look for it under Actors.", 404)}
      retry={() => undefined}
    />
  ),
  "Error of one long word": () => <ErrorNote error={new ApiError("INTERNAL", "x".repeat(400), 500)} />,
  Empty: () => <Empty title="No dead letters">Messages that fail three times appear here.</Empty>,
  Unavailable: () => <Unavailable ability="letters" />,
  Progress: () => (
    <>
      <Progress what="Verifying events" progress={{ done: 1_234, total: 98_765 }} cancel={() => undefined} />
      <Progress what="Reading events" progress={{ done: 1_234 }} />
    </>
  ),
  Copy: () => (
    <p>
      <CopyButton text="a" what="the text" />
    </p>
  ),
  "Connection banner": () => <ConnectionBanner />,
};
