import { AssertionError } from "node:assert/strict";
import { inspect } from "node:util";
import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import { isJsonObjects } from "./message.ts";

/** An entry of a list, as the server shows it. */
export type Definition = JsonObject & { readonly name: string };
/** A resource as `resources/list` lists it. */
export type ResourceDefinition = Definition & { readonly uri: string };
/** A template as `resources/templates/list` lists it. */
export type TemplateDefinition = Definition & { readonly uriTemplate: string };
/** A tool's result but for its `structuredContent`. */
export type ToolResultParts = JsonObject & {
  readonly content: readonly JsonObject[];
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
};
/** The result of `tools/call`. */
export type ToolResult = ToolResultParts & { readonly structuredContent?: Json };
/** The result of `resources/read`. */
export type ResourceResult = JsonObject & { readonly contents: readonly JsonObject[] };
/** The result of `prompts/get`. */
export type PromptResult = JsonObject & { readonly messages: readonly JsonObject[] };

const named = (bag: JsonObject): bag is Definition => typeof bag["name"] === "string";
const located = (bag: JsonObject): bag is ResourceDefinition => named(bag) && typeof bag["uri"] === "string";
const templated = (bag: JsonObject): bag is TemplateDefinition => named(bag) && typeof bag["uriTemplate"] === "string";

const toolResult = (bag: JsonObject): bag is ToolResult =>
  isJsonObjects(bag["content"]) &&
  ["boolean", "undefined"].includes(typeof bag["isError"]) &&
  (bag["_meta"] === undefined || isJsonObject(bag["_meta"]));
const resourceResult = (bag: JsonObject): bag is ResourceResult => isJsonObjects(bag["contents"]);
const promptResult = (bag: JsonObject): bag is PromptResult => isJsonObjects(bag["messages"]);

/** What each result has to be. */
export const shapes = { named, located, templated, toolResult, resourceResult, promptResult };

/** The value, if it has that shape. Throws an `AssertionError`. */
export function shaped<T extends JsonObject>(method: string, value: JsonObject, fits: (bag: JsonObject) => bag is T): T {
  if (fits(value)) return value;
  throw new AssertionError({ message: `${method} answered what is no such result:\n${inspect(value, { depth: 4 })}`, actual: value });
}

export function listed<T extends JsonObject>(
  method: string,
  result: JsonObject,
  list: string,
  fits: (bag: JsonObject) => bag is T,
): readonly T[] {
  const items = result[list];
  if (isJsonObjects(items)) return items.map((item) => shaped(method, item, fits));
  throw new AssertionError({ message: `${method} answered without a list of ${list}:\n${inspect(result, { depth: 4 })}`, actual: result });
}
