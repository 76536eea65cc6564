// Owns: the dialog in which the user answers what a server asks. Does not own: the questions (questions.ts).
import { Dialog } from "./dialog.tsx";
import { ArgumentsField, useArguments } from "./arguments-field.tsx";
import { question, type UserQuestion } from "../questions.ts";

const NO_FIELDS = {};

export function QuestionDialog() {
  const one = question.value;
  return one === undefined ? null : <Ask key={one.n} one={one} />;
}

function Ask({ one: { message, schema = NO_FIELDS, url, answer } }: { readonly one: UserQuestion }) {
  const fields = useArguments(schema, {});
  const cancel = (): void => answer({ action: "cancel" });
  const accept = (): void => {
    if (url !== undefined) return answer({ action: "accept" });
    const content = fields.checked();
    if (content !== undefined) answer({ action: "accept", content });
  };
  return (
    <Dialog title={message} context="The server asks" focusOn="input, select, textarea" noValidate close={cancel} submit={accept}>
      {url === undefined ? (
        <ArgumentsField fields={fields} schema={schema} />
      ) : (
        <p>
          It asks you to open this page. Check its address first:
          <br />
          {/^https?:/.test(url) ? (
            <a href={url} target="_blank" rel="noopener noreferrer">
              {url}
            </a>
          ) : (
            <code>{url}</code>
          )}
        </p>
      )}
      <div class="row">
        <button type="submit" class="primary">
          {url === undefined ? "Answer" : "I have done it"}
        </button>
        <button type="button" onClick={() => answer({ action: "decline" })}>
          Decline
        </button>
        <span class="grow" />
        <button type="button" class="quiet" onClick={cancel}>
          Cancel the question
        </button>
      </div>
    </Dialog>
  );
}
