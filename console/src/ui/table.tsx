// Owns: tables of rows: headings, alignment, narrow screens. Does not own: paging (pager.tsx).
import type { ComponentChildren } from "preact";

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly align?: "right";
  /** Left out on narrow screens. */
  readonly wide?: true;
}

export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
}) {
  const classOf = ({ align, wide }: Column<T>): string => `${align ?? ""} ${wide === true ? "wide" : ""}`.trim();
  return (
    // It scrolls sideways by itself, so that the page never does.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="table" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={classOf(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.head} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
