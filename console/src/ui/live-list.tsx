// Owns: a list that grows at its top, and stands still while someone reads it. Does not own: its rows (live-rows.ts), or how they are drawn.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Signal, useSignal } from "@preact/signals";
import type { LiveRows, Numbered } from "../live-rows.ts";
import "./live-list.css";

const STEP = 200;
/** The least height of a row. */
const ROW_PX = 26;

export function LiveList<T extends Numbered>({
  live,
  found,
  stopped,
  open,
  note,
  empty,
  older,
  children: draw,
}: {
  readonly live: LiveRows<T>;
  /** The rows that the filters show. */
  readonly found: readonly T[];
  /** Paused by hand. */
  readonly stopped: Signal<boolean>;
  /** The number of the row whose details are open, or empty. */
  readonly open: string;
  /** Says above the list how many rows it has. */
  readonly note: (count: number) => string;
  /** In place of rows, where there are none. */
  readonly empty: ComponentChildren;
  /** Loads rows before the oldest one. Undefined: there are none. */
  readonly older: (() => void) | undefined;
  readonly children: (rows: readonly T[]) => ComponentChildren;
}) {
  const reading = useSignal(false);
  const scrolled = useSignal(false);
  const shown = useSignal(STEP);
  const list = useRef<HTMLDivElement>(null);
  const held = stopped.value || reading.value || scrolled.value || shown.value > STEP || open !== "";
  useEffect(() => live.hold(held), [live, held]);

  const { value: heldAt } = live.heldAt;
  const visible = heldAt === undefined ? found : found.filter(({ n }) => n <= heldAt);
  const more = found.length - visible.length;
  // There is nothing to read yet: the pointer rests where the rows will be, or the filter has just changed.
  const isEmpty = visible.length === 0 && more > 0 && !stopped.value;
  useEffect(() => {
    if (isEmpty) live.catchUp();
  }, [live, isEmpty]);
  const catchUp = (): void => {
    shown.value = STEP;
    list.current?.querySelector(".table")?.scrollTo(0, 0);
    live.catchUp();
  };
  // At its top the list may change four times a second, so it has only the rows that fit there.
  const fits = Math.ceil(innerHeight / ROW_PX) + 5;
  const limit = scrolled.value || shown.value > STEP ? shown.value : Math.min(STEP, fits);
  const openAt = open === "" ? -1 : visible.findIndex(({ n }) => String(n) === open);
  const most = Math.max(limit, openAt + 1);
  // A link may lead to a row far down, and the details may cover it.
  const isListed = openAt !== -1;
  useEffect(() => {
    if (isListed) list.current?.querySelector("tr.open")?.scrollIntoView({ block: "nearest" });
  }, [open, isListed]);
  const showOlder = (): void => {
    shown.value += STEP;
    if (shown.value > visible.length) older?.();
  };
  return (
    <div
      ref={list}
      class="live-list"
      onScrollCapture={(event) => (scrolled.value = event.target instanceof Element && event.target.scrollTop > 4)}
      onPointerEnter={(event) => (reading.value = event.pointerType === "mouse")}
      onPointerLeave={() => (reading.value = false)}
    >
      <p class="new-rows" role="status">
        <span class="dim">{note(visible.length)}</span>
        {more === 0 ? null : (
          <button type="button" class="small" onClick={catchUp}>
            {more.toLocaleString()} new
          </button>
        )}
      </p>
      {visible.length > 0 ? draw(visible.slice(0, most)) : empty}
      {visible.length > most || older !== undefined ? (
        <button type="button" class="small" onClick={showOlder}>
          Show older
        </button>
      ) : null}
    </div>
  );
}
