// Owns: the first page: what needs attention, the figures and their last quarter of an hour. Does not own: the figures (GET /overview).
import { lazy, Suspense } from "preact/compat";
import { Link } from "wouter-preact";
import type { Overview as Figures, Pace, PageOf } from "../../../src/bridges/console/shapes.ts";
import { get } from "../api.ts";
import { dismiss, isDismissed, restoreDismissed } from "../dismissed.ts";
import { fill, newest, record } from "../figures-history.ts";
import { useResource } from "../resource.ts";
import { useStream } from "../stream.ts";
import { Badge } from "../ui/badge.tsx";
import { Findings } from "../ui/findings.tsx";
import { LiveState } from "../ui/live-state.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { ErrorNote, Loading } from "../ui/states.tsx";
import { duration } from "../ui/time.tsx";
import { Clients } from "./overview/clients.tsx";
import { FigureCards } from "./overview/figure-cards.tsx";
import { Kinds } from "./overview/kinds.tsx";
import "./overview/overview.css";

const Charts = lazy(async () => (await import("./overview/charts.tsx")).Charts);
const MOST_FINDINGS = 5;

export function Overview() {
  const first = useResource("overview", async (signal) => {
    const [figures, { items }] = await Promise.all([
      get<Figures>("/overview", undefined, signal),
      get<PageOf<Pace>>("/overview/history", undefined, signal),
    ]);
    fill(items);
    record(figures);
    return figures;
  });
  useStream("figures", record, { missed: first.reload });
  const figures = newest.value ?? first.data.value;
  if (figures === undefined)
    return (
      <>
        <PageHead title="Overview" />
        {first.error.value === undefined ? <Loading what="the figures" /> : <ErrorNote error={first.error.value} retry={first.reload} />}
      </>
    );
  return (
    <>
      <PageHead title="Overview" what={`running for ${duration(figures.uptimeMs)}`}>
        <LiveState />
      </PageHead>
      <Attention findings={figures.attention.filter(({ level }) => level !== "note")} />
      <FigureCards figures={figures} />
      <div class="charts">
        <Suspense fallback={null}>
          <Charts />
        </Suspense>
      </div>
      <div class="halves">
        <Kinds figures={figures} />
        <Clients clients={figures.clients} />
      </div>
    </>
  );
}

function Attention({ findings }: { readonly findings: Figures["attention"] }) {
  const shown = findings.filter((finding) => !isDismissed(finding));
  const hidden = findings.length - shown.length;
  const restore =
    hidden === 0 ? null : (
      <button type="button" class="small quiet" onClick={restoreDismissed}>
        Show {hidden} dismissed
      </button>
    );
  if (shown.length === 0)
    return (
      <p class="calm">
        <Badge word="ok" /> Nothing {hidden === 0 ? "" : "else "}needs attention. {restore}
      </p>
    );
  return (
    <section aria-labelledby="attention">
      <h2 id="attention" class="first">
        Needs attention
      </h2>
      <Findings findings={shown.slice(0, MOST_FINDINGS)} onDismiss={dismiss} />
      <p class="dim">
        What is so now, and what happened within the last hour.{" "}
        <Link href="/doctor">
          {shown.length > MOST_FINDINGS
            ? `${shown.length - MOST_FINDINGS} more, and what is older, in the doctor`
            : "Older findings are in the doctor"}
        </Link>
        . {restore}
      </p>
    </section>
  );
}
