// Owns: the questions to the user that calls of the playground and of actors' pages wait for, one at a time. Does not own: the dialog (ui/question-dialog.tsx).
import { computed, signal } from "@preact/signals";
import type { JsonObject } from "../../src/core/contract/index.ts";
import { objectIn, textIn } from "./json.ts";

export interface UserQuestion {
  readonly n: number;
  readonly message: string;
  /** Of the form; undefined: a page is to be opened. */
  readonly schema: JsonObject | undefined;
  readonly url: string | undefined;
  readonly answer: (result: JsonObject) => void;
}

const waiting = signal<readonly UserQuestion[]>([]);
let last = 0;

export const question = computed(() => waiting.value[0]);

/** Rejects what needs a model or folders: the console has neither. */
export function askUser(method: string, params: JsonObject): Promise<JsonObject> {
  if (method === "sampling/createMessage") return Promise.reject(new Error("The console has no model: connect a client that has one."));
  if (method === "roots/list") return Promise.reject(new Error("The console works in no folders."));
  if (method !== "elicitation/create") return Promise.reject(new Error(`The console does not know ${method}.`));
  return new Promise((resolve) => {
    last += 1;
    const n = last;
    const url = textIn(params, "mode") === "url" ? textIn(params, "url") : undefined;
    const answer = (result: JsonObject): void => {
      waiting.value = waiting.value.filter((one) => one.n !== n);
      resolve(result);
    };
    const schema = url === undefined ? objectIn(params, "requestedSchema") : undefined;
    waiting.value = [...waiting.value, { n, message: textIn(params, "message") ?? "", schema, url, answer }];
  });
}

/** Cancels all questions: their calls have ended, or their page was left. */
export function dropQuestions(): void {
  for (const { answer } of waiting.value) answer({ action: "cancel" });
}
