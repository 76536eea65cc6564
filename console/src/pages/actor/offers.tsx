// Owns: the tab with an actor's tools, resources and prompts as a viewer sees them, and why some are off. Does not own: calls
// (offer-panel.tsx).
import { useEffect } from "preact/hooks";
import { Link } from "wouter-preact";
import type { ActorDetail, EventRow, OfferShape, PageOf, SurfaceShape } from "../../../../src/bridges/console/shapes.ts";
import { about, can } from "../../about.ts";
import { actorPath, get } from "../../api.ts";
import { useParameter } from "../../page-state.ts";
import { useResource } from "../../resource.ts";
import { Empty, ErrorNote, Loading, Unavailable } from "../../ui/states.tsx";
import { TypedInput } from "../../ui/typed.tsx";
import { ViewerPicker } from "../../ui/viewer-picker.tsx";
import { callerParameters, remember, surfaceQuery, useViewer } from "../../viewer.ts";
import { OfferPanel } from "./offer-panel.tsx";
import { describeOff } from "./why-off.ts";
import type { ActorTabProps } from "./tabs.ts";
import "./offers.css";

const REMEMBER_MS = 3_000;

const LISTS = [
  ["tools", "Tools"],
  ["resources", "Resources"],
  ["prompts", "Prompts"],
] as const;

const SHOW = [
  ["", "All"],
  ["on", "On"],
  ["off", "Off"],
] as const;

export function OffersTab({ actor, reload }: ActorTabProps) {
  return can("run") ? <Offers actor={actor} reload={reload} /> : <Unavailable ability="run" />;
}

/** An actor whose offers are shown. `seq` is 0 before it begins. */
export interface Offering extends Pick<ActorDetail, "seq" | "owner"> {
  readonly id: string;
}

export function Offers({ actor, reload }: { readonly actor: Offering; readonly reload: () => void }) {
  const { id, seq, owner } = actor;
  const viewer = useViewer();
  const [search, setSearch] = useParameter("q");
  const [show, setShow] = useParameter("only");
  const [chosen, setChosen] = useParameter("offer");
  const { principal, scopes, claims } = viewer;
  const query = surfaceQuery(viewer);
  const surface = useResource<SurfaceShape>(`${JSON.stringify(query)} ${seq}`, (signal) => get(`${actorPath(id)}/surface`, query, signal));
  const principals = usePrincipals(id, owner);
  useEffect(() => {
    // A name that is still being typed is not remembered.
    const timer = setTimeout(() => remember({ principal, scopes, claims }), REMEMBER_MS);
    return () => clearTimeout(timer);
  }, [principal, scopes, claims]);

  const offers = surface.data.value?.offers;
  const error = surface.error.value;
  if (offers === undefined)
    return error === undefined ? <Loading what="what it offers" /> : <ErrorNote error={error} retry={surface.reload} />;
  const matching = offers.filter((offer) => fits(offer, search) && (show === "" || (show === "on") === offer.on));
  const selected = offers.find(({ ref }) => ref === chosen) ?? onlyOne(matching, search);
  const counts = { "": offers.length, on: offers.filter(({ on }) => on).length, off: offers.filter(({ on }) => !on).length };
  return (
    <>
      <ViewerPicker viewer={viewer} principals={principals} roles={surface.data.value?.roles} />
      {error === undefined ? null : <ErrorNote error={error} retry={surface.reload} />}
      <div class="row surface-bar">
        <TypedInput
          type="search"
          aria-label="Search tools, resources and prompts"
          placeholder="Names, descriptions, reasons"
          value={search}
          onCommit={setSearch}
        />
        <div class="segments" role="group" aria-label="Which of them to list">
          {SHOW.map(([value, label]) => (
            <button key={value} type="button" class="small" aria-pressed={show === value} onClick={() => setShow(value)}>
              {label} <span class="dim">{counts[value]}</span>
            </button>
          ))}
        </div>
        {can("connect-as") && about.value?.mcp !== undefined ? (
          <>
            <span class="grow" />
            <Link class="button small" href={`/playground?${new URLSearchParams([["by", "viewer"], ...callerParameters(viewer)])}`}>
              Playground as this user
            </Link>
          </>
        ) : null}
      </div>
      <div class="surface">
        <div class="surface-list">
          {matching.length === 0 ? (
            <Empty title={offers.length === 0 ? "It offers nothing" : "Nothing matches"}>
              {offers.length === 0 ? "Its kind defines no tools, resources or prompts." : "Search for something else, or list all."}
            </Empty>
          ) : null}
          {(offers.length === 0 ? [] : LISTS).map(([list, label]) => {
            const own = matching.filter((offer) => offer.list === list);
            const isEmpty = !offers.some((offer) => offer.list === list);
            if (own.length === 0 && !isEmpty) return null;
            return (
              <section key={list} aria-label={label}>
                <h2>
                  {label} <span class="dim">{own.length}</span>
                </h2>
                {isEmpty ? (
                  <p class="dim none">No {label.toLowerCase()}</p>
                ) : (
                  <ul>
                    {own.map((offer) => (
                      <li key={offer.ref}>
                        <OfferRow offer={offer} selected={offer.ref === selected?.ref} choose={() => setChosen(offer.ref)} />
                      </li>
                    ))}
                  </ul>
                )}
              </section>
            );
          })}
        </div>
        <div class={`surface-panel ${selected === undefined ? "none" : ""}`}>
          {selected === undefined ? (
            <Empty title="Choose a tool, resource or prompt">Who may use it, its form and its definition appear here.</Empty>
          ) : (
            <OfferPanel key={selected.ref} actor={actor} offer={selected} viewer={viewer} reload={reload} />
          )}
        </div>
      </div>
    </>
  );
}

/** What a search leads to without a click: the one that matches, or the one that matches by its name. */
function onlyOne(matching: readonly OfferShape[], search: string): OfferShape | undefined {
  const named = matching.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
  return matching.length === 1 ? matching[0] : named.length === 1 ? named[0] : undefined;
}

function fits({ name, ref, definition, reason = "" }: OfferShape, search: string): boolean {
  const { title, description } = definition;
  const text = [name, ref, title, description, reason]
    .filter((part) => typeof part === "string")
    .join(" ")
    .toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function OfferRow({ offer, selected, choose }: { readonly offer: OfferShape; readonly selected: boolean; readonly choose: () => void }) {
  const { name, on, reason, definition, link, listed, byArgument = false } = offer;
  const { description } = definition;
  return (
    <button type="button" class={`offer ${on ? "on" : "off"}`} aria-current={selected ? "true" : undefined} onClick={choose}>
      <span class="offer-name">
        <span class="mono">{name}</span>
        {link === undefined || link === "" ? null : <span class="dim">via {link}</span>}
        <span class="grow" />
        {listed && on ? null : <span class="badge dim">{listed ? "listed" : "not listed"}</span>}
        <span class={`badge ${on && !byArgument ? "good" : "dim"}`}>{on ? (byArgument ? "depends" : "on") : "off"}</span>
      </span>
      {on ? null : (
        <span class="offer-why">
          <strong>{reason ?? "No reason given."}</strong> <span>{describeOff(offer)}</span>
        </span>
      )}
      {on && byArgument ? <span class="dim">The actor that an argument names decides: see its own page.</span> : null}
      {typeof description === "string" ? <span class="dim">{description}</span> : null}
    </button>
  );
}

/** Who did something here lately, and whose it is. Undefined while it is loaded. Only to be suggested: without an answer there are fewer. */
function usePrincipals(id: string, owner: string | undefined): readonly string[] | undefined {
  const rows = useResource<PageOf<EventRow>>(`principals ${id}`, (signal) =>
    get(`${actorPath(id)}/events`, { order: "desc", limit: 100 }, signal),
  );
  if (rows.data.value === undefined && rows.error.value === undefined) return undefined;
  const names = (rows.data.value?.items ?? []).flatMap(({ principal }) => (principal === undefined ? [] : [principal]));
  return [...new Set([...(owner === undefined ? [] : [owner]), ...names])];
}
