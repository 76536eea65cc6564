// Owns: the fields that choose which actors are listed, stored in the address. Does not own: the list.
import type { IndexShape, KindShape } from "../../../../src/bridges/console/shapes.ts";
import { about, can, whyNot } from "../../about.ts";
import type { Query } from "../../api.ts";
import { useParameter } from "../../page-state.ts";
import { SavedViews } from "../../ui/saved-views.tsx";
import { TypedInput } from "../../ui/typed.tsx";
import { WhereBuilder } from "./where-builder.tsx";

const STATUSES = ["live", "failed", "stopped"] as const;

interface KindIndex extends IndexShape {
  readonly kind: string;
}

const allIndexes = (kinds: readonly KindShape[]): readonly KindIndex[] =>
  kinds.flatMap(({ kind, indexes }) => indexes.map((index) => ({ ...index, kind })));

/** `reset`: a filter has changed, so the list begins anew. */
export function useFilters(reset: () => void) {
  const parameters = {
    search: useParameter("search"),
    kind: useParameter("kind"),
    status: useParameter("status"),
    index: useParameter("index"),
    where: useParameter("where"),
    text: useParameter("text"),
    order: useParameter("order"),
  };
  type Name = keyof typeof parameters;
  const value = (name: Name): string => parameters[name][0];
  const index = allIndexes(about.value?.kinds ?? []).find(({ name }) => name === value("index"));
  const set = (changes: Partial<Record<Name, string>>): void => {
    reset();
    for (const [name, [, change]] of Object.entries(parameters)) {
      const next = Object.entries(changes).find(([one]) => one === name)?.[1];
      if (next !== undefined) change(next);
    }
  };
  // An index has its own conditions, and knows neither ids nor statuses.
  const query: Query =
    value("index") === ""
      ? { search: value("search"), kind: value("kind"), status: value("status") }
      : { index: value("index"), where: value("where"), text: value("text"), order: value("order") };
  const isFiltered = Object.entries(query).some(([, one]) => one !== "");
  const clear = (): void => set({ search: "", kind: "", status: "", index: "", where: "", text: "", order: "" });
  return { value, set, index, query, isFiltered, clear };
}

export type Filters = ReturnType<typeof useFilters>;

export function FilterBar({ filters: { value, set, index, isFiltered, clear } }: { readonly filters: Filters }) {
  const kinds = about.value?.kinds ?? [];
  const indexes = allIndexes(kinds).filter(({ kind }) => value("kind") === "" || kind === value("kind"));
  const byIndex = value("index") !== "";
  return (
    <section class="actor-filters" aria-label="Which actors to list">
      <div class="filter-row">
        {byIndex ? null : (
          <label class="grows" htmlFor="search-ids">
            <span>Search ids</span>
            <TypedInput
              id="search-ids"
              type="search"
              placeholder="part of a kind or key"
              value={value("search")}
              onCommit={(search) => set({ search })}
            />
          </label>
        )}
        {index?.text === true ? (
          <label class="grows" htmlFor="search-texts">
            <span>Full text</span>
            <TypedInput
              id="search-texts"
              type="search"
              placeholder='words, "a phrase", beginn*'
              value={value("text")}
              onCommit={(text) => set({ text })}
            />
          </label>
        ) : null}
        <label>
          <span>Kind</span>
          <select
            value={value("kind")}
            onChange={({ currentTarget }) => set({ kind: currentTarget.value, index: "", where: "", text: "", order: "" })}
          >
            <option value="">all kinds</option>
            {kinds.map(({ kind }) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        </label>
        {byIndex ? null : (
          <label>
            <span>Status</span>
            <select value={value("status")} onChange={({ currentTarget }) => set({ status: currentTarget.value })}>
              <option value="">any</option>
              {STATUSES.map((status) => (
                <option key={status} value={status}>
                  {status}
                </option>
              ))}
            </select>
          </label>
        )}
        <label title={can("indexes") ? undefined : whyNot("indexes")}>
          <span>By contents</span>
          <select
            value={value("index")}
            disabled={indexes.length === 0 || !can("indexes")}
            onChange={({ currentTarget }) => {
              const chosen = indexes.find(({ name }) => name === currentTarget.value);
              set({
                index: currentTarget.value,
                where: "",
                text: "",
                order: "",
                search: "",
                status: "",
                kind: chosen?.kind ?? value("kind"),
              });
            }}
          >
            <option value="">{indexes.length === 0 ? "no index" : "choose an index"}</option>
            {indexes.map(({ name, kind }) => (
              <option key={name} value={name}>
                {name} ({kind})
              </option>
            ))}
          </select>
        </label>
        {index?.order === undefined ? null : (
          <label>
            <span>Order by {index.order}</span>
            <select value={value("order")} onChange={({ currentTarget }) => set({ order: currentTarget.value })}>
              <option value="">smallest first</option>
              <option value="desc">largest first</option>
            </select>
          </label>
        )}
        {isFiltered ? (
          <button type="button" class="quiet" onClick={clear}>
            Clear
          </button>
        ) : null}
        <SavedViews page="Actors" />
      </div>
      {index === undefined ? null : <WhereBuilder fields={index.fields} value={value("where")} onChange={(where) => set({ where })} />}
    </section>
  );
}
