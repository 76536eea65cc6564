// Owns: asking before something that cannot be undone. Does not own: doing it.
import { signal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import "./confirm.css";

export interface Question {
  readonly title: string;
  /** What will happen, in a sentence or two. */
  readonly text: string;
  /** On the button: `Drop 3 letters`. */
  readonly action: string;
  /** It destroys something. */
  readonly danger?: boolean;
  /** Asks for a text, too. */
  readonly input?: { readonly label: string; readonly value?: string; readonly required?: boolean };
}

interface Asked extends Question {
  readonly answer: (given: string | undefined) => void;
}

const asked = signal<Asked | undefined>(undefined);

/** The text that was asked for, otherwise an empty one. Undefined: no. */
export async function confirm(question: Question): Promise<string | undefined> {
  asked.value?.answer(undefined);
  return await new Promise((resolve) => {
    asked.value = {
      ...question,
      answer(given) {
        asked.value = undefined;
        resolve(given);
      },
    };
  });
}

/** Stands once in the frame. */
export function Confirm() {
  const question = asked.value;
  return question === undefined ? null : <Dialog key={question.title} {...question} />;
}

function Dialog({ title, text, action, danger = false, input, answer }: Asked) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = event.currentTarget instanceof HTMLFormElement ? event.currentTarget.elements.namedItem("given") : undefined;
    answer(field instanceof HTMLInputElement ? field.value : "");
  };
  return (
    <dialog
      ref={dialog}
      class="confirm"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      onCancel={(event) => {
        event.preventDefault();
        answer(undefined);
      }}
    >
      <form onSubmit={submit}>
        <h2 id={`${id}-title`}>{title}</h2>
        <p id={`${id}-text`}>{text}</p>
        {input === undefined ? null : (
          <label class="field">
            <span>{input.label}</span>
            <input name="given" defaultValue={input.value ?? ""} required={input.required ?? false} autocomplete="off" />
          </label>
        )}
        <div class="row end">
          <button type="button" onClick={() => answer(undefined)}>
            Cancel
          </button>
          <button type="submit" class={danger ? "primary bad" : "primary"}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
