// Owns: the page of one actor: its header and its tabs. Apps of its kind are tabs, too. Does not own: what a tab shows
// (actor/).
import { lazy, Suspense } from "preact/compat";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { ActorDetail } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { actorPath, get } from "../api.ts";
import { useActorId, useParameter } from "../page-state.ts";
import { useThrottledReload } from "../throttled-reload.ts";
import { useResource } from "../resource.ts";
import { useStream } from "../stream.ts";
import { readable } from "../ui/actor-link.tsx";
import { ErrorNote, Loading } from "../ui/states.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Header } from "./actor/header.tsx";
import { ACTOR_TABS } from "./actor/tabs.ts";
import "./actor/actor.css";

const AppTab = lazy(async () => (await import("./actor/actor-app.tsx")).AppTab);
const NotBegun = lazy(async () => (await import("./actor/not-begun.tsx")).NotBegun);

export function Actor() {
  const id = useActorId();
  // Nothing of one actor may stay when the next is opened.
  return <One key={id} id={id} />;
}

function One({ id }: { readonly id: string }) {
  const [tab, setTab] = useParameter("tab", "state");
  const beginning = useSignal(false);
  const actor = useResource<ActorDetail>(id, (signal) => get(actorPath(id), {}, signal));
  const refresh = useThrottledReload(actor);
  useStream(
    "change",
    ({ items, more }) => {
      if (more > 0 || items.some((item) => item.id === id && item.seq !== actor.data.value?.seq)) refresh();
    },
    { actor: id, missed: refresh },
  );
  useEffect(() => {
    document.title = `${readable(id)} · Troupe console`;
  }, [id]);
  const detail = actor.data.value;
  const error = actor.error.value;
  const missing = detail === undefined && error?.status === 404;
  if (missing && can("run") && !beginning.peek()) beginning.value = true;
  // It stays when the actor begins: the result of the call that began it is there.
  if (missing || beginning.value) return <NotBegun id={id} begun={detail} reload={actor.reload} open={() => (beginning.value = false)} />;
  if (detail === undefined) {
    if (error === undefined) return <Loading what={readable(id)} />;
    return (
      <>
        <h1>{readable(id)}</h1>
        <ErrorNote error={error} retry={actor.reload} />
      </>
    );
  }
  const app = detail.apps.find(({ name }) => tab === `app-${name}`);
  const here = ACTOR_TABS.find((one) => one.id === tab) ?? ACTOR_TABS[0];
  const tabs = [...ACTOR_TABS, ...detail.apps.map(({ name, title }) => ({ id: `app-${name}`, label: title ?? name }))];
  return (
    <>
      <Header actor={detail} reload={actor.reload} />
      {error === undefined ? null : <ErrorNote error={error} retry={actor.reload} />}
      <Tabs label="Views of this actor" tabs={tabs} value={app === undefined ? here.id : tab} onChange={setTab}>
        <Suspense fallback={<Loading what="the view" />}>
          {app === undefined ? (
            <here.View key={here.id} actor={detail} reload={actor.reload} />
          ) : (
            <AppTab key={app.name} app={app} actor={detail} reload={actor.reload} />
          )}
        </Suspense>
      </Tabs>
    </>
  );
}
