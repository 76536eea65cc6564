// Owns: the question before something that cannot be undone. Does not own: doing it.
import { signal, useSignal } from "@preact/signals";
import { Dialog } from "./dialog.tsx";

export interface Question {
  readonly title: string;
  /** What will happen, in a sentence or two. */
  readonly text: string;
  /** On the button: `Drop 3 letters`. */
  readonly action: string;
  /** It destroys something. */
  readonly danger?: boolean;
  /** A text that must or may be entered, too. */
  readonly input?: { readonly label: string; readonly value?: string; readonly required?: boolean };
}

interface OpenQuestion extends Question {
  readonly answer: (text: string | undefined) => void;
}

const open = signal<OpenQuestion | undefined>(undefined);

/** Whether the user is answering a question: another would take its place. */
export const isConfirming = (): boolean => open.peek() !== undefined;

/** The text that was entered; an empty one without `input`. Undefined: no. */
export async function confirm(question: Question): Promise<string | undefined> {
  open.value?.answer(undefined);
  return await new Promise((resolve) => {
    open.value = {
      ...question,
      answer(text) {
        open.value = undefined;
        resolve(text);
      },
    };
  });
}

/** Rendered once, in the frame. */
export function Confirm() {
  const question = open.value;
  return question === undefined ? null : <ConfirmDialog key={question.title} {...question} />;
}

function ConfirmDialog({ title, text, action, danger = false, input, answer }: OpenQuestion) {
  const entered = useSignal(input?.value ?? "");
  const cancel = (): void => answer(undefined);
  return (
    <Dialog title={title} description={text} close={cancel} submit={() => answer(input === undefined ? "" : entered.value)}>
      {input === undefined ? null : (
        <label class="field">
          <span>{input.label}</span>
          <input
            value={entered.value}
            required={input.required ?? false}
            autocomplete="off"
            onInput={({ currentTarget }) => (entered.value = currentTarget.value)}
          />
        </label>
      )}
      <div class="row end">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <button type="submit" class={danger ? "primary bad" : "primary"}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
