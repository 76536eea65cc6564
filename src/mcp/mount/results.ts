import { type Bag, CONTENT, isBag, type Json, type ListName, isList } from "../../core/contract/index.ts";

const listIn = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);

/** A result of `tools/call`, `resources/read` or `prompts/get` as what a source replies. */
export function valueOf(list: ListName, result: Bag): Json {
  const meta = isBag(result["_meta"]) ? { meta: result["_meta"] } : undefined;
  if (list === "resources")
    return { [CONTENT]: listIn(result["contents"]).map((one): Json => ({ type: "resource", resource: one })), ...meta };
  if (list === "prompts") {
    const { description } = result;
    const said = typeof description === "string" ? { description } : undefined;
    return { [CONTENT]: [], messages: listIn(result["messages"]), ...said, ...meta };
  }
  const { isError, structuredContent: structured } = result;
  return {
    [CONTENT]: listIn(result["content"]).filter(isBag),
    ...(structured === undefined ? undefined : { structured }),
    ...(typeof isError === "boolean" ? { isError } : undefined),
    ...meta,
  };
}
