// Owns: a list of commands that is searched by typing and used by keyboard. Does not own: which commands there are.
import { useEffect, useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { Modal } from "./dialog.tsx";
import { rank } from "./palette/rank.ts";
import "./palette.css";

export interface Command {
  readonly id: string;
  readonly group: string;
  readonly label: string;
  readonly what?: string;
  /** Keys that do the same. */
  readonly keys?: readonly string[];
  readonly run: () => void;
}

const SHOWN = 40;
const PAUSE_MS = 120;

export function Palette({
  commands,
  search,
  close,
}: {
  /** Undefined: they are not loaded yet. */
  readonly commands: readonly Command[] | undefined;
  /** More commands for what was typed, such as actors from the server. */
  readonly search?: ((text: string, signal: AbortSignal) => Promise<readonly Command[]>) | undefined;
  readonly close: () => void;
}) {
  const id = useId();
  const text = useSignal("");
  const found = useSignal<readonly Command[]>([]);
  const at = useSignal(0);
  // Enter was pressed before there was anything to use: commands may still load, or the search may still run.
  const entered = useSignal(false);
  useEffect(() => {
    const wanted = text.value.trim();
    if (search === undefined || wanted === "") {
      found.value = [];
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      void search(wanted, controller.signal).then(
        (more) => {
          if (!controller.signal.aborted) found.value = more;
        },
        () => undefined,
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text.value, search, found]);

  const rows = [...rank(commands ?? [], text.value, ({ label, what = "", group }) => [label, `${group} ${what}`]), ...found.value].slice(
    0,
    SHOWN,
  );
  const active = Math.min(at.value, rows.length - 1);
  const use = (command: Command): void => {
    close();
    command.run();
  };
  const chosen = rows[active];
  useEffect(() => {
    if (entered.value && chosen !== undefined) use(chosen);
  });
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step !== undefined)
      at.value = Math.abs(step) === 1 ? (active + step + rows.length) % Math.max(rows.length, 1) : clamp(active + step, rows.length);
    else if (event.key === "Enter") {
      if (chosen === undefined) entered.value = true;
      else use(chosen);
    } else return;
    event.preventDefault();
    document.getElementById(`${id}-${at.value}`)?.scrollIntoView({ block: "nearest" });
  };
  const groups = Map.groupBy(
    rows.map((row, index) => ({ row, index })),
    ({ row }) => row.group,
  );
  return (
    <Modal class="palette" label="Commands" close={close} closeOutside>
      <div class="palette-inside">
        <input
          role="combobox"
          aria-label="Search pages, actors, tools and actions"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={rows.length === 0 ? undefined : `${id}-${active}`}
          placeholder="Search pages, actors, tools and actions"
          autocomplete="off"
          spellcheck={false}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            at.value = 0;
            entered.value = false;
          }}
          onKeyDown={press}
        />
        <div class="palette-list" id={`${id}-list`} role="listbox" aria-label="Commands">
          {Array.from(groups, ([group, members]) => (
            <div key={group} role="group" aria-label={group}>
              <p class="palette-group" aria-hidden="true">
                {group}
              </p>
              {members.map(({ row, index }) => (
                // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the field has the focus, and its keys
                <div
                  key={row.id}
                  id={`${id}-${index}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={index === active}
                  onClick={() => use(row)}
                  onMouseMove={() => (at.value = index)}
                >
                  <span class="label">{row.label}</span>
                  <small class="dim">{row.what}</small>
                  {row.keys?.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </div>
              ))}
            </div>
          ))}
        </div>
        {rows.length === 0 && commands !== undefined ? (
          <p class="palette-none dim" role="status">
            Nothing matches.
          </p>
        ) : null}
      </div>
    </Modal>
  );
}

const clamp = (index: number, count: number): number => Math.max(0, Math.min(index, count - 1));
