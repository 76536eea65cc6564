// Owns: the button and dialog that save the view of a page, and list those that were saved. Does not own: storing them (saved-views.ts).
import { useSignal } from "@preact/signals";
import { Link } from "wouter-preact";
import { BASE } from "../base-path.ts";
import { currentPath, removeView, savedViews, saveView } from "../saved-views.ts";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { toast } from "./toasts.tsx";
import "./saved-views.css";

/** `page`: its name, under which its views are listed. */
export function SavedViews({ page }: { readonly page: string }) {
  const open = useSignal(false);
  const own = savedViews.value.filter((view) => view.page === page);
  return (
    <>
      <button type="button" class="small" aria-haspopup="dialog" onClick={() => (open.value = true)}>
        Views{own.length === 0 ? "" : ` (${own.length})`} …
      </button>
      {open.value ? <ViewsDialog page={page} close={() => (open.value = false)} /> : null}
    </>
  );
}

export function ViewsDialog({ page, close }: { readonly page: string; readonly close: () => void }) {
  const title = useSignal("");
  const own = savedViews.value.filter((view) => view.page === page);
  const save = (): void => {
    const name = title.value.trim();
    if (name === "") return;
    saveView({ title: name, page, path: currentPath() });
    toast(`Saved the view ${name} in this browser.`);
    close();
  };
  return (
    <Dialog
      title={`Views of ${page}`}
      description="A view is the page with its filters and order. It stays in this browser; its link leads to the same view anywhere."
      focusOn="input"
      close={close}
      submit={save}
    >
      {own.length === 0 ? null : (
        <ul class="saved-views">
          {own.map((view) => (
            <li key={view.title} class="row">
              <Link href={view.path} onClick={close}>
                {view.title}
              </Link>
              <span class="grow" />
              <CopyButton text={location.origin + BASE + view.path} what={`link of the view ${view.title}`} label="Copy link" />
              <button type="button" class="small quiet" aria-label={`Remove the view ${view.title}`} onClick={() => removeView(view)}>
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      <label class="field">
        <span>Name of the view that is open</span>
        <input
          maxLength={100}
          required
          autocomplete="off"
          value={title.value}
          onInput={({ currentTarget }) => (title.value = currentTarget.value)}
        />
      </label>
      <div class="row end">
        <button type="button" onClick={close}>
          Close
        </button>
        <button type="submit" class="primary">
          Save this view
        </button>
      </div>
    </Dialog>
  );
}
