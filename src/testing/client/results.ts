import { AssertionError } from "node:assert/strict";
import { inspect } from "node:util";
import { type Bag, isBag, type Json } from "../../core/contract/index.ts";
import { isBags } from "./message.ts";

/** An entry of a list, as the server shows it. */
export type Definition = Bag & { readonly name: string };
export type ResourceDefinition = Definition & { readonly uri: string };
export type TemplateDefinition = Definition & { readonly uriTemplate: string };
export type ToolResult = Bag & {
  readonly content: readonly Bag[];
  readonly structuredContent?: Json;
  readonly isError?: boolean;
  readonly _meta?: Bag;
};
export type ResourceResult = Bag & { readonly contents: readonly Bag[] };
export type PromptResult = Bag & { readonly messages: readonly Bag[] };

const named = (bag: Bag): bag is Definition => typeof bag["name"] === "string";
const located = (bag: Bag): bag is ResourceDefinition => named(bag) && typeof bag["uri"] === "string";
const templated = (bag: Bag): bag is TemplateDefinition => named(bag) && typeof bag["uriTemplate"] === "string";

const toolResult = (bag: Bag): bag is ToolResult =>
  isBags(bag["content"]) && ["boolean", "undefined"].includes(typeof bag["isError"]) && (bag["_meta"] === undefined || isBag(bag["_meta"]));
const resourceResult = (bag: Bag): bag is ResourceResult => isBags(bag["contents"]);
const promptResult = (bag: Bag): bag is PromptResult => isBags(bag["messages"]);

/** What each result has to be. */
export const shapes = { named, located, templated, toolResult, resourceResult, promptResult };

/** The value, if it has that shape. Throws an `AssertionError`. */
export function shaped<T extends Bag>(method: string, value: Bag, fits: (bag: Bag) => bag is T): T {
  if (fits(value)) return value;
  throw new AssertionError({ message: `${method} answered what is no such result:\n${inspect(value, { depth: 4 })}`, actual: value });
}

export function listed<T extends Bag>(method: string, result: Bag, list: string, fits: (bag: Bag) => bag is T): readonly T[] {
  const items = result[list];
  if (isBags(items)) return items.map((item) => shaped(method, item, fits));
  throw new AssertionError({ message: `${method} answered without a list of ${list}:\n${inspect(result, { depth: 4 })}`, actual: result });
}
