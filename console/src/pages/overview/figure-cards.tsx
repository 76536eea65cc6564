// Owns: the figures as cards, each with its last quarter of an hour as a line.
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import type { Overview } from "../../../../src/bridges/console/shapes.ts";
import { type SampledFigures, samples } from "../../figures-history.ts";
import { Sparkline } from "../../ui/sparkline.tsx";
import { counted, bytes, duration, Until } from "../../ui/time.tsx";

const count = (value: number): string => value.toLocaleString();

/** Clients of 2026-07-28 have no session. */
const clientsIn = ({ clients }: Pick<SampledFigures, "clients">): number | undefined =>
  clients?.reduce((sum, { sessions }) => sum + sessions, 0);

export function FigureCards({ figures }: { readonly figures: Overview }) {
  const { actors, latencyMs, timers, disk, memory } = figures;
  const history = (valueOf: (one: SampledFigures) => number | undefined): readonly number[] =>
    samples.value.flatMap(({ figures: one }) => (one === undefined ? [] : (valueOf(one) ?? [])));
  return (
    <section class="figures" aria-label="Figures">
      <Card
        label="Turns per second"
        value={count(figures.turnsPerSecond)}
        line={history((one) => one.turnsPerSecond)}
        more={`${counted(figures.requestsPerSecond, "request")}/s`}
      />
      <Card
        label="Latency, median"
        value={latencyMs.count === 0 ? "–" : duration(latencyMs.p50)}
        line={history((one) => one.latencyMs.p50)}
        more={latencyMs.count === 0 ? "no requests in the last minute" : `p95 ${duration(latencyMs.p95)} · p99 ${duration(latencyMs.p99)}`}
        to="/traffic"
      />
      <Card
        label="Actors"
        value={count(actors.live)}
        line={history((one) => one.actors?.live)}
        more={`${count(actors.inMemory)} in memory`}
        to="/actors"
        alarm={actors.failed > 0 ? `${count(actors.failed)} failed` : undefined}
      />
      {figures.sessions === undefined && figures.streams === undefined ? null : (
        <Card
          label="Clients"
          value={count(clientsIn(figures) ?? 0)}
          line={history(clientsIn)}
          more={`${count(figures.sessions ?? 0)} with a session · ${counted(figures.streams ?? 0, "stream")}`}
          to="/sessions"
        />
      )}
      {timers === undefined ? null : (
        <Card
          label="Timers due"
          value={count(timers.due)}
          line={history((one) => one.timers?.due)}
          more={timers.next === undefined ? "none is next" : <Until at={timers.next} now={figures.at} prefix="next " />}
          to="/timers"
        />
      )}
      {figures.outbox === undefined ? null : (
        <Card label="Outbox" value={count(figures.outbox)} line={history((one) => one.outbox)} more="messages on their way" to="/outbox" />
      )}
      {figures.letters === undefined ? null : (
        <Card
          label="Dead letters"
          value={count(figures.letters)}
          line={history((one) => one.letters)}
          more={figures.letters === 0 ? "all were delivered" : undefined}
          alarm={figures.letters > 0 ? "see why" : undefined}
          to="/letters"
        />
      )}
      <Card
        label="Faults"
        value={count(figures.faults)}
        line={history((one) => one.faults)}
        more={counted(figures.slowTurns, "slow turn")}
        to="/doctor"
      />
      <Card
        label="Memory"
        value={bytes(memory.rssBytes)}
        line={history((one) => one.memory.rssBytes)}
        more={`heap ${bytes(memory.heapBytes)}`}
      />
      {disk === undefined ? null : (
        <Card
          label="Disk"
          value={bytes(disk.bytes)}
          line={history((one) => one.disk?.bytes)}
          more={disk.backlogPages === undefined ? undefined : `${counted(disk.backlogPages, "page")} to write back`}
        />
      )}
      <Card label="Longest pause" value={duration(figures.loopMs)} line={history((one) => one.loopMs)} more="event loop, last minute" />
    </section>
  );
}

function Card({
  label,
  value,
  line,
  more,
  alarm,
  to,
}: {
  readonly label: string;
  readonly value: string;
  readonly line: readonly number[];
  readonly more?: ComponentChildren;
  /** It needs attention. */
  readonly alarm?: string | undefined;
  /** The page with more about it. */
  readonly to?: string;
}) {
  const body = (
    <>
      <span class="figure-label">{label}</span>
      <span class="figure-value">{value}</span>
      <Sparkline values={line} color={alarm === undefined ? "--accent" : "--bad"} />
      <span class="figure-more">
        {alarm === undefined ? null : <span class="bad-text">{alarm}</span>}
        {alarm === undefined || more === undefined ? null : " · "}
        {more}
      </span>
    </>
  );
  return to === undefined ? (
    <div class="figure">{body}</div>
  ) : (
    <Link class="figure" href={to}>
      {body}
    </Link>
  );
}
