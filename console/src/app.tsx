// Owns: the frame of the console: navigation, sign-in, and which page a path leads to. Does not own: the pages.
import { type ComponentType, Fragment } from "preact";
import { lazy, Suspense } from "preact/compat";
import { useEffect } from "preact/hooks";
import { Link, Route, Router, Switch, useLocation } from "wouter-preact";
import type { About, Overview as Figures } from "../../src/bridges/console/shapes.ts";
import { about, isListed } from "./about.ts";
import { get } from "./api.ts";
import { BASE } from "./base-path.ts";
import { newest } from "./figures-history.ts";
import { NAVIGATION } from "./navigation.ts";
import { usePolling } from "./pages/lists/polling.tsx";
import { useResource } from "./resource.ts";
import { token } from "./session.ts";
import { SignIn } from "./sign-in.tsx";
import { TopBar } from "./top-bar.tsx";
import { ErrorNote, Loading } from "./ui/states.tsx";
import { ConnectionBanner } from "./ui/connection-banner.tsx";
import { Confirm } from "./ui/confirm.tsx";
import { timeZone } from "./ui/time.tsx";
import { Toasts } from "./ui/toasts.tsx";

export function App() {
  return (
    <Router base={BASE}>
      <Inside key={token.value ?? ""} />
      <Toasts />
      <Confirm />
    </Router>
  );
}

function Inside() {
  const { data, error } = useResource<About>("about", async (signal) => (about.value = await get<About>("/", undefined, signal)));
  if (error.value !== undefined && (error.value.status === 401 || error.value.status === 403)) return <SignIn error={error.value} />;
  if (error.value !== undefined && data.value === undefined) return <ErrorNote error={error.value} />;
  if (data.value === undefined) return <Loading what="the console" />;
  return <Frame about={data.value} />;
}

function Frame({ about: own }: { readonly about: About }) {
  const { name } = own;
  const [path] = useLocation();
  const counts = useResource<Figures>("counts", (signal) => get("/overview", undefined, signal));
  usePolling(counts.reload, 15_000);
  const figures = [newest.value, counts.data.value].filter((one) => one !== undefined).toSorted((one, other) => other.at - one.at)[0];
  useEffect(() => {
    const page = NAVIGATION.find((item) => item.path === path)?.label;
    document.title = `${page === undefined ? "" : `${page} · `}${name} · Troupe console`;
    // On a narrow screen the navigation is one line, longer than the screen.
    document.querySelector('.side [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path, name]);
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <TopBar about={own} />
      <ConnectionBanner />
      <nav class="side" aria-label="Pages">
        {NAVIGATION.filter((item) => isListed(item) || isAt(path, item.path)).map(({ path: to, label, group, count }) => (
          <Fragment key={to}>
            {group === undefined ? null : <span class="side-group">{group}</span>}
            <Link href={to} class={isAt(path, to) ? "here" : ""} aria-current={isAt(path, to) ? "page" : undefined}>
              {label}
              <Count n={figures === undefined ? undefined : count?.(figures)} />
            </Link>
          </Fragment>
        ))}
        <p class="side-note">Times are in {timeZone()}</p>
      </nav>
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<Loading what="the page" />}>
          <Switch>
            {PAGES.map(([at, Page]) => (
              <Route key={at} path={at}>
                <Page />
              </Route>
            ))}
            <Route>
              <h1>There is no such page</h1>
              <p>
                Go to <Link href="/">the overview</Link>.
              </p>
            </Route>
          </Switch>
        </Suspense>
      </main>
    </div>
  );
}

const Count = ({ n = 0 }: { readonly n?: number | undefined }) =>
  n === 0 ? null : (
    <>
      {" "}
      <span class="count">{n > 99 ? "99+" : n}</span>
    </>
  );

/** An event is a part of an actor's history. */
const isAt = (path: string, to: string): boolean =>
  to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`) || (to === "/actors" && path.startsWith("/events/"));

// Each page is a file of its own in the bundle, loaded when it is opened first.
const PAGES: readonly (readonly [path: string, page: ComponentType])[] = [
  ["/", lazy(async () => (await import("./pages/overview.tsx")).Overview)],
  ["/actors", lazy(async () => (await import("./pages/actors.tsx")).Actors)],
  ["/actors/:kind/:key", lazy(async () => (await import("./pages/actor.tsx")).Actor)],
  ["/query", lazy(async () => (await import("./pages/query.tsx")).Query)],
  ["/search", lazy(async () => (await import("./pages/search.tsx")).Search)],
  ["/playground", lazy(async () => (await import("./pages/playground.tsx")).Playground)],
  ["/events/:id", lazy(async () => (await import("./pages/event.tsx")).Event)],
  ["/events/:id/causes", lazy(async () => (await import("./pages/causes.tsx")).Causes)],
  ["/traffic", lazy(async () => (await import("./pages/traffic.tsx")).Traffic)],
  ["/sessions", lazy(async () => (await import("./pages/sessions.tsx")).Sessions)],
  ["/letters", lazy(async () => (await import("./pages/letters.tsx")).Letters)],
  ["/timers", lazy(async () => (await import("./pages/timers.tsx")).Timers)],
  ["/outbox", lazy(async () => (await import("./pages/outbox.tsx")).Outbox)],
  ["/tasks", lazy(async () => (await import("./pages/tasks.tsx")).Tasks)],
  ["/guests", lazy(async () => (await import("./pages/guests.tsx")).Guests)],
  ["/packets", lazy(async () => (await import("./pages/packets.tsx")).Packets)],
  ["/log", lazy(async () => (await import("./pages/log.tsx")).Log)],
  ["/doctor", lazy(async () => (await import("./pages/doctor.tsx")).Doctor)],
];
