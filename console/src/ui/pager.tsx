// Owns: going through the pages of a long list, each found by the end of the one before. Does not own: loading them.
import { useSignal } from "@preact/signals";
import "./lists.css";
import { useParameter } from "../page-state.ts";
import { counted } from "./time.tsx";

export interface Pages {
  /** For the API's `after`. */
  readonly after: string;
  /** Back to the first page: when a filter changes. */
  readonly reset: () => void;
  /** Where each page that was seen began. */
  readonly seen: readonly string[];
  readonly open: (after: string, seen: readonly string[]) => void;
}

/** The place in a list is in the address, as `after`. */
export function usePages(name = "after"): Pages {
  const [after, setAfter] = useParameter(name);
  const seen = useSignal<readonly string[]>([]);
  return {
    after,
    seen: seen.value,
    reset() {
      seen.value = [];
      setAfter("");
    },
    open(next, before) {
      seen.value = before;
      setAfter(next, { push: true });
    },
  };
}

export function Pager({
  pages,
  count,
  next,
  total,
  size,
  first,
}: {
  readonly pages: Pages;
  /** Rows on this page. */
  readonly count: number;
  /** The answer's. */
  readonly next: string | undefined;
  readonly total?: number | undefined;
  /** Rows of a full page. */
  readonly size: number;
  /** The number of its first row, where pages may end early. */
  readonly first?: number;
}) {
  const { after, seen, open } = pages;
  const isFirst = after === "";
  // Of a place that a link led to it is not known how much comes before it.
  const from = first ?? (isFirst || seen.length > 0 ? seen.length * size + 1 : undefined);
  const range =
    count === 0 ? "none" : from === undefined ? counted(count, "row") : `${from.toLocaleString()}–${(from + count - 1).toLocaleString()}`;
  if (isFirst && next === undefined) return <p class="pager dim">{counted(count, "row")}</p>;
  return (
    <nav class="pager row" aria-label="Pages of this list">
      <button type="button" disabled={isFirst} onClick={() => open(seen.at(-1) ?? "", seen.slice(0, -1))}>
        {seen.length > 0 || isFirst ? "Previous" : "First page"}
      </button>
      <button type="button" disabled={next === undefined} onClick={() => next !== undefined && open(next, [...seen, after])}>
        Next
      </button>
      <span class="dim" aria-live="polite">
        {range}
        {total === undefined ? "" : ` of ${total.toLocaleString()}`}
      </span>
    </nav>
  );
}
