// Owns: a test client's scripted answers to questions of the server. Does not own: receiving the questions (connection.ts).
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import type { Notification, Question } from "./messages.ts";

type AnswerValue = string | number | boolean | null | undefined | readonly AnswerValue[] | Answer;

/**
 * A result. Members may be undefined: without `exactOptionalPropertyTypes`, TypeScript adds to each element of an array the members of
 * all other elements, as optional ones.
 */
interface Answer {
  readonly [member: string]: AnswerValue;
}

/** Results in order, or a function of the question's `params`. */
export type Script = readonly Answer[] | ((params: JsonObject) => Answer | Promise<Answer>);

/** Answers to questions of the server. The client declares the capabilities for those that are present. */
export interface AnswerScripts {
  /** To `elicitation/create`: `{ action: "accept", content: { … } }`, `{ action: "decline" }`, `{ action: "cancel" }`. */
  readonly elicitation?: Script;
  /** To `sampling/createMessage`: `{ role: "assistant", model: "m", content: { type: "text", text: "…" } }`. */
  readonly sampling?: Script;
  /** To `roots/list`: `{ roots: [] }`. */
  readonly roots?: Script;
}

const NAMES: Readonly<Record<string, keyof AnswerScripts>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** Answers from the scripts, and records the questions. */
export class Answers {
  /** All questions of the server so far, in order. */
  readonly questions: Notification[] = [];
  readonly #scripts: AnswerScripts;
  readonly #played = new Map<string, number>();

  constructor(scripts: AnswerScripts) {
    this.#scripts = scripts;
  }

  /** The capabilities that the client declares. */
  get capabilities(): JsonObject {
    return Object.fromEntries(Object.keys(this.#scripts).map((name) => [name, {}]));
  }

  /** Undefined: the script has ended, or there is none. */
  async answer({ method, params }: Pick<Question, "method" | "params">): Promise<JsonObject | undefined> {
    this.questions.push({ method, params });
    const name = Object.hasOwn(NAMES, method) ? NAMES[method] : undefined;
    const script = name === undefined ? undefined : this.#scripts[name];
    if (script === undefined) return undefined;
    if (typeof script === "function") return definedOnly(await script(params));
    const at = this.#played.get(method) ?? 0;
    this.#played.set(method, at + 1);
    const answer = script[at];
    return answer === undefined ? undefined : definedOnly(answer);
  }
}

const definedOnly = (answer: Answer): JsonObject => {
  const copy: unknown = JSON.parse(JSON.stringify(answer));
  if (!isJsonObject(copy)) throw new TypeError('An answer of a test client is a JSON object, such as { action: "accept" }.');
  return copy;
};

export const unanswered = (method: string): string =>
  `The server asked for ${method} and the test has no answer left: give the client one more in \`answers\`.`;
