// Owns: a call of an actor by the console's API, with the questions that it asks the user on the way. Does not own: the form
// (offer-panel.tsx), the dialog (ui/question-dialog.tsx).
import type { CallInput, CallOutcome } from "../../../../src/bridges/console/shapes.ts";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { actorPath, post } from "../../api.ts";
import { isObject, objectIn, textIn } from "../../json.ts";
import { askUser } from "../../questions.ts";

const MOST_ROUNDS = 10;

/** Calls, and calls again with what the user answers, as long as the reply is questions. */
export async function callWithAnswers(id: string, input: CallInput): Promise<CallOutcome> {
  let answers: JsonObject = {};
  for (let round = 1; ; round += 1) {
    const result = await post<CallOutcome>(`${actorPath(id)}/call`, { ...input, can: ["elicitation"], answers } satisfies CallInput);
    const needs = isObject(result.reply) ? result.reply["needs"] : undefined;
    if (!isObject(needs) || round > MOST_ROUNDS) return result;
    const given = await Promise.all(
      Object.entries(needs).map(async ([key, request]): Promise<readonly [string, JsonObject]> => {
        const question = isObject(request) ? request : {};
        return [key, await askUser(textIn(question, "method") ?? "", objectIn(question, "params"))];
      }),
    );
    answers = { ...answers, ...Object.fromEntries(given) };
  }
}
