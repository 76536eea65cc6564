import { type Bag, isBag, isList, type Json } from "../contract/index.ts";
import type { Question } from "./elicit.ts";
import { refuse } from "./refuse.ts";

/** A folder the client works in. */
export type Root = Bag & { readonly uri: string; readonly name?: string };

/** MCP's `ListRootsResult`. */
export type Roots = Bag & { readonly roots: readonly Root[] };

/** Asks which folders the client works in. */
export const roots = (): Question<Roots> => ({ request: { method: "roots/list", params: {} }, read: readRoots });

function readRoots(answer: Json): Roots {
  const list = isBag(answer) ? answer["roots"] : undefined;
  if (!isBag(answer) || !isList(list) || !list.every(isRoot)) return refuse("The answer is no list of roots.", { code: "INVALID" });
  return { ...answer, roots: list };
}

const isRoot = (root: Json): root is Root =>
  isBag(root) && typeof root["uri"] === "string" && (root["name"] === undefined || typeof root["name"] === "string");
