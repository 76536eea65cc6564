// Owns: the buttons that store a call: under a name in this browser, or as a link. Does not own: saved calls (saved.ts).
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { BASE } from "../../base-path.ts";
import { copyText } from "../../ui/copy.tsx";
import { SaveAs } from "../../ui/save-as.tsx";
import { toast } from "../../ui/toasts.tsx";
import type { Target } from "./calls.ts";
import { callPath, save } from "./saved.ts";

export function SaveCall({ target, args }: { readonly target: Target; readonly args: () => JsonObject | undefined }) {
  const saveAs = (title: string): void => {
    const given = args();
    if (given === undefined) return;
    save({ ...target, title, arguments: given });
    toast("Saved in this browser.");
  };
  return (
    <>
      <SaveAs what="saved call" name={target.name} onSave={saveAs} />
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
