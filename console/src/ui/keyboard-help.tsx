// Owns: the list of the keys that work on every page. Does not own: the keys (shortcuts.ts).
import { isListed } from "../about.ts";
import { NAVIGATION } from "../navigation.ts";
import { isMac, letterOf } from "../shortcuts.ts";
import { Modal } from "./dialog.tsx";
import "./palette.css";

export function KeyboardHelp({ close }: { readonly close: () => void }) {
  return (
    <Modal class="palette help" labelledBy="keyboard-help" close={close}>
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
        {NAVIGATION.filter(isListed).map(({ path, label }) => {
          const letter = letterOf(path);
          return letter === undefined ? null : <Keys key={path} keys={["g", letter]} what={label} />;
        })}
        <Keys keys={["Esc"]} what="Close a dialog" />
      </dl>
    </Modal>
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
