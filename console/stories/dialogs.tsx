// Owns: stories of dialogs, one at a time.
import { useEffect } from "preact/hooks";
import { ConnectDialog } from "../src/connect-dialog.tsx";
import { askUser } from "../src/questions.ts";
import { QuestionDialog } from "../src/ui/question-dialog.tsx";
import { confirm } from "../src/ui/confirm.tsx";
import { KeyboardHelp } from "../src/ui/keyboard-help.tsx";
import { type Command, Palette } from "../src/ui/palette.tsx";
import { ViewsDialog } from "../src/ui/saved-views.tsx";
import { toast } from "../src/ui/toasts.tsx";
import "../src/pages/playground/playground.css";

const COMMANDS: readonly Command[] = [
  { id: "1", group: "Pages", label: "Overview", what: "What runs, and what needs attention", keys: ["g", "o"], run: () => undefined },
  { id: "2", group: "Pages", label: "Actors", what: "Find actors", keys: ["g", "a"], run: () => undefined },
  {
    id: "3",
    group: "Tools",
    label: "a_tool_with_a_long_name_".repeat(5),
    what: "It has a long description, too. ".repeat(4),
    run: () => undefined,
  },
];

export function Dialogs({ open }: { readonly open: string }) {
  useEffect(() => {
    if (open === "confirm")
      void confirm({
        title: "Drop 3 letters?",
        text: "They are gone then.",
        action: "Drop 3 letters",
        danger: true,
        input: { label: "Reason", required: true },
      });
    if (open === "question") {
      const requestedSchema = { type: "object", required: ["name"], properties: { name: { type: "string" }, size: { enum: ["s", "l"] } } };
      void askUser("elicitation/create", { message: "Who gets a jar?", requestedSchema });
    }
    if (open === "toasts") {
      toast("Copied the link.");
      toast("The browser did not let the page copy the link.", "failed");
    }
  }, [open]);
  return (
    <div class="playground">
      {open === "palette" ? <Palette commands={COMMANDS} close={() => undefined} /> : null}
      {open === "connect" ? <ConnectDialog close={() => undefined} /> : null}
      {open === "views" ? <ViewsDialog page="Actors" close={() => undefined} /> : null}
      {open === "help" ? <KeyboardHelp close={() => undefined} /> : null}
      <QuestionDialog />
    </div>
  );
}
