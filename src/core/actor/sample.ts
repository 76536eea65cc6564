import { type Bag, isBag, isList, type Json } from "../contract/index.ts";
import type { Question } from "./elicit.ts";
import { refuse } from "./refuse.ts";

/** MCP's parameters of `sampling/createMessage`: these two, and whatever else the client's revision has. */
export type Sampling = Bag & { readonly messages: readonly Bag[]; readonly maxTokens: number };

type Result = Bag & {
  readonly role: "user" | "assistant";
  readonly model: string;
  readonly content: Bag | readonly Bag[];
  readonly stopReason?: string;
};

/** MCP's `CreateMessageResult`, and in `text` what its text contents say, one a line. */
export type Sampled = Result & { readonly text: string };

/** Asks the client's model. */
export const sample = (params: Sampling): Question<Sampled> => ({
  request: { method: "sampling/createMessage", params },
  read(answer) {
    if (!isResult(answer)) return refuse("The answer is no sampling result.", { code: "INVALID" });
    return { ...answer, text: textOf(answer.content) };
  },
});

const isResult = (answer: Json): answer is Result =>
  isBag(answer) &&
  (answer["role"] === "user" || answer["role"] === "assistant") &&
  typeof answer["model"] === "string" &&
  (isBag(answer["content"]) || (isList(answer["content"]) && answer["content"].every(isBag))) &&
  ["string", "undefined"].includes(typeof answer["stopReason"]);

const textOf = (content: Bag | readonly Bag[]): string =>
  [content]
    .flat()
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n");
