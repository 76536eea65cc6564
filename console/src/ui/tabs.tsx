// Owns: tabs: one of several views, chosen with the mouse or the arrow keys. Does not own: what the views show.
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import "./tabs.css";

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly count?: number | undefined;
}

export function Tabs({
  label,
  tabs,
  value,
  onChange,
  children,
}: {
  /** For screen readers. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** The view of the tab that is chosen. */
  readonly children: ComponentChildren;
}) {
  const own = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(({ id }) => id === value);
    const last = tabs.length - 1;
    const next = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at <= 0 ? last : at - 1, Home: 0, End: last }[event.key];
    const tab = next === undefined ? undefined : tabs[next];
    if (next === undefined || tab === undefined) return;
    event.preventDefault();
    onChange(tab.id);
    const button = list.current?.children.item(next);
    if (button instanceof HTMLElement) button.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list}>
        {tabs.map(({ id, label: text, count }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${own}-${id}`}
            aria-selected={id === value}
            aria-controls={`${own}-panel`}
            tabIndex={id === value ? 0 : -1}
            onClick={() => onChange(id)}
            onKeyDown={move}
          >
            {text}
            {count === undefined ? null : <span class="count">{count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${own}-panel`} aria-labelledby={`${own}-${value}`} class="tab-panel">
        {children}
      </div>
    </>
  );
}
