import { type Bag, isBag } from "../../core/contract/index.ts";

/** What a client has to have declared for this; undefined: nothing a server may ask. */
export function capabilityOf(method: string, params: Bag): string | undefined {
  if (method === "roots/list") return "roots";
  if (method === "sampling/createMessage") return params["tools"] === undefined ? "sampling" : "sampling.tools";
  if (method === "elicitation/create") return params["mode"] === "url" ? "elicitation.url" : "elicitation";
  return undefined;
}

/** All that our own clients may have: whether this one has it is found out when it is asked. */
export const EVERY_CAPABILITY: Bag = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

/** What a request says beside what it asks, the client gets anew from us. */
export function withoutMeta(params: Bag): Bag {
  const { _meta, ...rest } = params;
  return isBag(_meta) || _meta === undefined ? rest : params;
}
