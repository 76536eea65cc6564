// Owns: what stands next to the query: views and their columns, examples, saved queries, history. Does not own: running a query.
import { useSignal } from "@preact/signals";
import type { SqlViews } from "../../../../src/bridges/console/shapes.ts";
import { Tabs } from "../../ui/tabs.tsx";
import { EXAMPLES, type NamedQuery } from "./examples.ts";
import { clearHistory, forgetQuery, history, savedQueries } from "./stored.ts";

export function Side({
  views,
  onInsert,
  onOpen,
}: {
  readonly views: SqlViews["views"];
  /** Into the query. */
  readonly onInsert: (text: string) => void;
  /** In the place of the query. */
  readonly onOpen: (sql: string) => void;
}) {
  const tab = useSignal("views");
  const tabs = [
    { id: "views", label: "Views" },
    { id: "examples", label: "Examples" },
    { id: "saved", label: "Saved", count: savedQueries.value.length || undefined },
    { id: "history", label: "History" },
  ];
  return (
    <aside class="query-side" aria-label="Views, examples and queries">
      <Tabs label="Views and queries" tabs={tabs} value={tab.value} onChange={(id) => (tab.value = id)}>
        {tab.value === "views" ? <Views views={views} onInsert={onInsert} /> : null}
        {tab.value === "examples" ? <Queries queries={EXAMPLES} onOpen={onOpen} /> : null}
        {tab.value === "saved" ? <Saved onOpen={onOpen} /> : null}
        {tab.value === "history" ? <History onOpen={onOpen} /> : null}
      </Tabs>
    </aside>
  );
}

function Views({ views, onInsert }: { readonly views: SqlViews["views"]; readonly onInsert: (text: string) => void }) {
  return (
    <>
      {views.map(({ name, what, columns }) => (
        <details key={name}>
          <summary>
            <code>{name}</code>
          </summary>
          <p class="dim">
            {what}{" "}
            <button type="button" class="link" aria-label={`Insert ${name}`} onClick={() => onInsert(name)}>
              Insert
            </button>
          </p>
          <ul class="query-columns">
            {columns.map((column) => (
              <li key={column.name}>
                <button type="button" class="link mono" title={`Insert ${column.name}`} onClick={() => onInsert(column.name)}>
                  {column.name}
                </button>{" "}
                <span class="dim">
                  {column.type}
                  {column.what === undefined ? "" : ` · ${column.what}`}
                </span>
              </li>
            ))}
          </ul>
        </details>
      ))}
    </>
  );
}

const Queries = ({ queries, onOpen }: { readonly queries: readonly NamedQuery[]; readonly onOpen: (sql: string) => void }) => (
  <ul class="query-list">
    {queries.map(({ title, sql }) => (
      <li key={sql}>
        <button type="button" class="link" title={sql} onClick={() => onOpen(sql)}>
          {title}
        </button>
      </li>
    ))}
  </ul>
);

function Saved({ onOpen }: { readonly onOpen: (sql: string) => void }) {
  if (savedQueries.value.length === 0) return <p class="dim">Save a query to find it here. It stays in this browser.</p>;
  return (
    <ul class="query-list">
      {savedQueries.value.map(({ title, sql }) => (
        <li key={title} class="row">
          <button type="button" class="link" title={sql} onClick={() => onOpen(sql)}>
            {title}
          </button>
          <span class="grow" />
          <button type="button" class="small quiet" aria-label={`Delete ${title}`} onClick={() => forgetQuery(title)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

function History({ onOpen }: { readonly onOpen: (sql: string) => void }) {
  if (history.value.length === 0) return <p class="dim">Queries that you run are listed here. They stay in this browser.</p>;
  return (
    <>
      <Queries queries={history.value} onOpen={onOpen} />
      <button type="button" class="small quiet" onClick={clearHistory}>
        Clear
      </button>
    </>
  );
}
