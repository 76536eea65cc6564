// Owns: the buttons that keep a call: under a name in this browser, or as a link. Does not own: saved calls (saved.ts).
import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { BASE } from "../../base-path.ts";
import { copyText } from "../../ui/copy.tsx";
import { toast } from "../../ui/toasts.tsx";
import type { Target } from "./calls.ts";
import { callPath, save } from "./saved.ts";

export function SaveCall({ target, args }: { readonly target: Target; readonly args: () => JsonObject | undefined }) {
  const naming = useSignal(false);
  const title = useSignal(target.name);
  const done = (): void => {
    const given = args();
    naming.value = false;
    if (given === undefined || title.value.trim() === "") return;
    save({ ...target, title: title.value.trim(), arguments: given });
    toast("Saved in this browser.");
  };
  if (naming.value)
    return (
      <span class="row">
        <input
          aria-label="Name of the saved call"
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears because the user asked for it
          autofocus
          value={title.value}
          onInput={(event) => (title.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") naming.value = false;
            if (event.key !== "Enter") return;
            event.preventDefault();
            done();
          }}
        />
        <button type="button" onClick={done}>
          Save
        </button>
      </span>
    );
  return (
    <>
      <button type="button" onClick={() => (naming.value = true)}>
        Save …
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          const given = args();
          if (given !== undefined) void copyText(location.origin + BASE + callPath(target, given), "the link");
        }}
      >
        Copy link
      </button>
    </>
  );
}
