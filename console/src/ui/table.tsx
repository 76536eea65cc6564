// Owns: tables of rows: headings, alignment, sorting, selection, narrow screens. Does not own: paging (pager.tsx).
import { type ComponentChildren, Fragment } from "preact";
import { isNarrow } from "../narrow.ts";
import { useParameter } from "../page-state.ts";
import type { Selection } from "./selection.ts";
import "./table.css";

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly align?: "right";
  /** On narrow screens in a second line of the row; `opened`: only in the details of the row that is open. */
  readonly wide?: true | "opened";
  /** Sorts by this when its heading is pressed. Rows without a value come last. */
  readonly sort?: (row: T) => number | string | undefined;
  /** Takes the room that is left, and cuts what does not fit. */
  readonly fill?: true;
  /** Takes that room on narrow screens, where it may have lines of its own (`.narrow`). */
  readonly main?: true;
}

export interface TableProps<T> {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** With checkboxes. `name`: what a row is called for screen readers. */
  readonly selection?: Selection;
  readonly nameOf?: (row: T) => string;
  /** A click anywhere in a row; a cell has a link or a button that does the same for the keyboard. */
  readonly onOpen?: (row: T) => void;
  /** The key of the row that is open. */
  readonly open?: string | undefined;
}

/** How a table that sorts is sorted is in the address: `sort=-p99`, by the heading. */
export function SortedTable<T>({
  parameter = "sort",
  otherwise = "",
  ...props
}: TableProps<T> & { readonly parameter?: string; readonly otherwise?: string }) {
  const [sort, setSort] = useParameter(parameter, otherwise);
  const down = sort.startsWith("-");
  const by = props.columns.find((column) => slug(column.head) === sort.replace(/^-/, ""));
  const rows = by?.sort === undefined ? props.rows : sortBy(props.rows, by.sort, down);
  return (
    <Table
      {...props}
      rows={rows}
      sorted={{ by: by?.head, down, set: (head, descending) => setSort(`${descending ? "-" : ""}${slug(head)}`) }}
    />
  );
}

const slug = (head: string): string => head.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

function sortBy<T>(rows: readonly T[], valueOf: (row: T) => number | string | undefined, down: boolean): readonly T[] {
  return rows.toSorted((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
    return down ? -order : order;
  });
}

interface Sorted {
  readonly by: string | undefined;
  readonly down: boolean;
  readonly set: (head: string, down: boolean) => void;
}

export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  selection,
  nameOf,
  onOpen,
  open,
  sorted,
}: TableProps<T> & { readonly sorted?: Sorted }) {
  const keys = selection === undefined ? [] : rows.map(keyOf);
  const shown = isNarrow.value ? columns.filter(({ wide }) => wide === undefined) : columns;
  const below = isNarrow.value ? columns.filter(({ wide }) => wide === true) : [];
  return (
    // It scrolls sideways by itself, so that the page never does.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="table" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <thead>
          <tr>
            {selection === undefined ? null : (
              <th scope="col" class="tick">
                <input
                  type="checkbox"
                  aria-label={`Select all of ${caption.toLowerCase()}`}
                  checked={keys.length > 0 && keys.every((key) => selection.has(key))}
                  onChange={(event) => selection.setAll(keys, event.currentTarget.checked)}
                />
              </th>
            )}
            {shown.map((column) => (
              <Heading key={column.head} column={column} sorted={sorted} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = keyOf(row);
            const state = `${onOpen === undefined ? "" : "opens"} ${open === key ? "open" : ""} ${selection?.has(key) === true ? "selected" : ""}`;
            const press = onOpen === undefined ? undefined : (event: MouseEvent) => isPlain(event) && onOpen(row);
            return (
              <Fragment key={key}>
                {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- a cell has a button */}
                <tr class={`${state} ${below.length === 0 ? "" : "continued"}`.trim()} onClick={press}>
                  {selection === undefined ? null : (
                    <td class="tick" rowSpan={below.length === 0 ? 1 : 2}>
                      <input
                        type="checkbox"
                        aria-label={`Select ${nameOf?.(row) ?? key}`}
                        checked={selection.has(key)}
                        onClick={(event) => selection.set(key, event.currentTarget.checked, event.shiftKey ? keys : undefined)}
                      />
                    </td>
                  )}
                  {shown.map((column) => (
                    <td key={column.head} class={classOf(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
                {below.length === 0 ? null : (
                  // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions -- as above
                  <tr class={state.trim()} onClick={press}>
                    <td colSpan={shown.length}>
                      <div class="below">
                        {below.map((column) => (
                          <Below key={column.head} column={column} row={row} />
                        ))}
                      </div>
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** What its column has no room for, after its heading. */
function Below<T>({ column: { head, cell, fill }, row }: { readonly column: Column<T>; readonly row: T }) {
  const content = cell(row);
  return content === null || content === "" ? null : (
    <span class={fill === true ? "fill" : ""}>
      <span class="dim">{head}</span> {content}
    </span>
  );
}

/** Not on something that does something itself, and not the end of selecting text. */
const isPlain = (event: MouseEvent): boolean =>
  event.target instanceof Element &&
  event.target.closest("a, button, input, select, label") === null &&
  getSelection()?.isCollapsed !== false;

function classOf<T>({ align, fill, main }: Column<T>): string {
  return `${align ?? ""} ${fill === true ? "fill" : ""} ${main === true ? "main" : ""}`.trim();
}

function Heading<T>({ column, sorted }: { readonly column: Column<T>; readonly sorted: Sorted | undefined }) {
  const { head, sort, align } = column;
  if (sort === undefined || sorted === undefined)
    return (
      <th scope="col" class={classOf(column)}>
        {head}
      </th>
    );
  const { by, down, set } = sorted;
  const isBy = by === head;
  return (
    <th scope="col" class={classOf(column)} aria-sort={isBy ? (down ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" onClick={() => set(head, isBy ? !down : align === "right")}>
        {head}
        <span aria-hidden="true">{isBy ? (down ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}
