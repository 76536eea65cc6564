// Owns: a JSON value as a tree that opens and closes, large ones included; marks what changed. Does not own: editing (json-editor.tsx).
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json } from "../../../src/core/contract/index.ts";
import { membersOf } from "../json-paths.ts";
import { isList, isObject } from "../json.ts";
import { copyText } from "./copy.tsx";
import { type TreeRow, matching, nodesIn, rowsOf } from "./json-tree/rows.ts";
import "./json-tree.css";

/** Paths that changed. `n` grows with each change, so that the same path is marked again. */
export interface Changed {
  readonly n: number;
  readonly paths: ReadonlySet<string>;
}

/** Values with at most so many members are open at first. */
const SMALL = 150;

export function JsonTree({
  value,
  label,
  changed,
  search = false,
}: {
  readonly value: Json;
  /** For screen readers. */
  readonly label: string;
  readonly changed?: Changed | undefined;
  /** With a field that searches in names and values. */
  readonly search?: boolean;
}) {
  const toggled = useSignal<ReadonlyMap<string, boolean>>(new Map());
  const more = useSignal<ReadonlyMap<string, number>>(new Map());
  const active = useSignal("");
  const text = useSignal("");
  const list = useRef<HTMLUListElement>(null);
  const move = useRef(false);

  const small = useMemo(() => nodesIn(value, SMALL) < SMALL, [value]);
  const found = useMemo(() => (text.value === "" ? undefined : matching(value, text.value)), [value, text.value]);
  const rows = useMemo(
    () =>
      rowsOf(value, {
        isOpen: (path, depth) => toggled.value.get(path) ?? (found !== undefined || depth === 0 || small),
        most: (path) => more.value.get(path) ?? 100,
        ...(found === undefined ? {} : { only: found }),
      }),
    [value, toggled.value, more.value, found, small],
  );
  const at = Math.max(
    0,
    rows.findIndex(({ path }) => path === active.value),
  );

  // An effect after the paint would still be due for the last row when the next key is pressed, and would take that key's move.
  useLayoutEffect(() => {
    if (!move.current) return;
    move.current = false;
    const item = list.current?.children.item(at);
    if (item instanceof HTMLElement) item.focus();
  });

  const toggle = (path: string, open: boolean): void => {
    toggled.value = new Map(toggled.value).set(path, open);
  };
  const use = (row: TreeRow): void => {
    if (row.kind === "more") more.value = new Map(more.value).set(row.parent, (more.value.get(row.parent) ?? 100) + 500);
    else if (row.open !== undefined) toggle(row.path, !row.open);
  };
  const press = (event: KeyboardEvent): void => {
    const row = rows[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const go = (index: number): void => {
      move.current = true;
      active.value = rows[Math.min(Math.max(index, 0), rows.length - 1)]?.path ?? "";
    };
    if (event.key === "ArrowDown") go(at + 1);
    else if (event.key === "ArrowUp") go(at - 1);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(rows.length - 1);
    else if (event.key === "Enter" || event.key === " ") use(row);
    else if (event.key === "ArrowRight") {
      if (row.open === false) toggle(row.path, true);
      else go(at + 1);
    } else if (event.key === "ArrowLeft") {
      if (row.open === true) toggle(row.path, false);
      else go(rows.findIndex(({ path }) => path === row.parent));
    } else if (event.key === "c") void copyText(valueText(row.value), "the value");
    else if (event.key === "p") void copyText(row.path, "the path");
    else return;
    event.preventDefault();
  };

  return (
    <div class="json">
      {search ? (
        <div class="json-search">
          <input
            type="search"
            aria-label={`Search in ${label}`}
            placeholder="Search names and values"
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
          <button type="button" class="small quiet" onClick={() => void copyText(JSON.stringify(value, undefined, 2), label)}>
            Copy JSON
          </button>
        </div>
      ) : null}
      {rows.length === 0 ? <p class="dim">Nothing matches.</p> : null}
      <ul role="tree" aria-label={label} ref={list}>
        {rows.map((row, index) => (
          <Row
            key={row.path}
            row={row}
            active={index === at}
            changed={isChanged(row, changed) ? changed?.n : undefined}
            press={press}
            choose={() => {
              active.value = row.path;
              use(row);
            }}
          />
        ))}
      </ul>
    </div>
  );
}

/** A closed row stands for all that is in it. */
function isChanged(row: TreeRow, changed: Changed | undefined): boolean {
  if (changed === undefined || row.kind === "more") return false;
  if (changed.paths.has(row.path)) return true;
  if (row.open !== false) return false;
  return [...changed.paths].some((path) => path.startsWith(`${row.path}/`));
}

const valueText = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value, undefined, 2));

function Row({
  row,
  active,
  changed,
  press,
  choose,
}: {
  readonly row: TreeRow;
  readonly active: boolean;
  readonly changed: number | undefined;
  readonly press: (event: KeyboardEvent) => void;
  readonly choose: () => void;
}) {
  const { kind, name, value, depth, open, path } = row;
  return (
    <li
      role="treeitem"
      aria-level={depth + 1}
      aria-expanded={open}
      aria-selected={active}
      tabIndex={active ? 0 : -1}
      class={changed === undefined ? "" : "changed"}
      style={{ paddingLeft: `${depth * 16 + 22}px` }}
      onClick={choose}
      onKeyDown={press}
    >
      {changed === undefined ? null : <span key={changed} class="mark flash" aria-hidden="true" />}
      <span class="twist" aria-hidden="true">
        {open === undefined ? "" : open ? "▾" : "▸"}
      </span>
      {kind === "more" ? (
        <span class="dim">{name}</span>
      ) : (
        <>
          {path === "" ? null : (
            <>
              <span class="name">{name}</span>
              <span class="dim">: </span>
            </>
          )}
          <Value value={value} open={open} />
          <span class="copy">
            <button
              type="button"
              class="small"
              tabIndex={active ? 0 : -1}
              aria-label={`Copy the value of ${name}`}
              onClick={(event) => {
                event.stopPropagation();
                void copyText(valueText(value), "the value");
              }}
            >
              Copy
            </button>
            <button
              type="button"
              class="small"
              tabIndex={active ? 0 : -1}
              aria-label={`Copy the path of ${name}`}
              onClick={(event) => {
                event.stopPropagation();
                void copyText(path, "the path");
              }}
            >
              Path
            </button>
          </span>
        </>
      )}
    </li>
  );
}

const SHOWN_TEXT = 120;

function Value({ value, open }: { readonly value: Json; readonly open: boolean | undefined }) {
  if (isList(value) || isObject(value)) {
    const count = membersOf(value).length;
    const [from, to] = isList(value) ? ["[", "]"] : ["{", "}"];
    if (count === 0) return <span class="dim">{from + to}</span>;
    return (
      <span class="dim">
        {open === true ? from : `${from}…${to}`} <small>{count === 1 ? "1 member" : `${count.toLocaleString()} members`}</small>
      </span>
    );
  }
  if (typeof value === "string") {
    const cut = open === false && value.length > SHOWN_TEXT;
    return (
      <span class="text">
        "{cut ? value.slice(0, SHOWN_TEXT) : value}"
        {cut ? <small class="dim"> … {(value.length - SHOWN_TEXT).toLocaleString()} more characters</small> : null}
      </span>
    );
  }
  return <span class={typeof value === "number" ? "number" : "word"}>{String(value)}</span>;
}
