// A `requestState` is opaque: the one in a transcript stands for the one that this server returned at that step.
import type { JsonObject, Json } from "../../src/core/contract/index.ts";

const isJsonObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

function stateIn(body: Json | undefined): string | undefined {
  const result = isJsonObject(body) ? body["result"] : undefined;
  const state = isJsonObject(result) ? result["requestState"] : undefined;
  return typeof state === "string" ? state : undefined;
}

export class RequestStates {
  readonly #ours = new Map<string, string>();

  /** Replaces our state in an answer by the transcript's, and remembers ours. */
  theirs(body: Json | undefined, expected: Json | undefined): Json | undefined {
    const [ours, theirs] = [stateIn(body), stateIn(expected)];
    if (ours === undefined || theirs === undefined || !isJsonObject(body) || !isJsonObject(body["result"])) return body;
    this.#ours.set(theirs, ours);
    return { ...body, result: { ...body["result"], requestState: theirs } };
  }

  /** Replaces the transcript's state in a request by ours. */
  ours(text: string): string {
    let replaced = text;
    for (const [theirs, ours] of this.#ours)
      replaced = replaced.replaceAll(`"requestState":${JSON.stringify(theirs)}`, () => `"requestState":${JSON.stringify(ours)}`);
    return replaced;
  }
}
