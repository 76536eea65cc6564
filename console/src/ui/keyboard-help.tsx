// Owns: the list of the keys that work on every page. Does not own: the keys (shortcuts.ts).
import { useEffect, useRef } from "preact/hooks";
import { isMac, pageKeys } from "../shortcuts.ts";
import "./palette.css";

export function KeyboardHelp({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="palette help"
      aria-labelledby="keyboard-help"
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <div class="help-head">
        <h2 id="keyboard-help">Keyboard</h2>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <dl>
        <Keys keys={[isMac ? "⌘" : "Ctrl", "K"]} what="Search pages, actors, tools and actions" />
        <Keys keys={["/"]} what="Go to the search field of the page" />
        <Keys keys={["?"]} what="This list" />
        {pageKeys().map(({ letter, label }) => (
          <Keys key={letter} keys={["g", letter]} what={label} />
        ))}
        <Keys keys={["Esc"]} what="Close a dialog" />
      </dl>
    </dialog>
  );
}

const Keys = ({ keys, what }: { readonly keys: readonly string[]; readonly what: string }) => (
  <>
    <dt>
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </dt>
    <dd>{what}</dd>
  </>
);
