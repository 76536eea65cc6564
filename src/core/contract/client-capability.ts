import type { Bag } from "./json.ts";

/** Of an extension, which is called as a domain and a name: `com.example/review/approve` is of `com.example/review`. */
const EXTENSION_METHOD = /^([a-z0-9-]+(?:\.[a-z0-9-]+)+\/[\w.-]+)\/[\w./-]+$/i;

/** Before the name of an extension, where it is a capability. */
export const EXTENSION = "extension:";

export function isExtensionMethod(method: string): boolean {
  return EXTENSION_METHOD.test(method);
}

/** What a client has to have declared to be asked this, as `can` names it. */
export function capabilityNeeded(method: string, params: Bag): string {
  const extension = EXTENSION_METHOD.exec(method)?.[1];
  if (extension !== undefined) return EXTENSION + extension;
  if (method === "sampling/createMessage") return params["tools"] === undefined ? "sampling" : "sampling.tools";
  if (method === "elicitation/create") return params["mode"] === "url" ? "elicitation.url" : "elicitation";
  return method.slice(0, method.indexOf("/"));
}
