import type { Json, OfferRef } from "../../core/contract/index.ts";
import { isBag } from "../../core/contract/index.ts";

const RESOURCES = "resources/";

/** The URI a ref and what its template's expressions stand for came from. Resources are known by their URI or template. */
export function uriOf(ref: OfferRef, args: Json): string {
  const name = ref.slice(RESOURCES.length);
  if (!isBag(args)) return name;
  return name.replaceAll(/\{([^{}]+)\}/g, (_whole, expression: string) => {
    const value = Object.hasOwn(args, expression) ? args[expression] : undefined;
    return typeof value === "string" ? value : "";
  });
}
