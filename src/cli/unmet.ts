import type { Behaviour } from "../core/contract/index.ts";
import type { Loaded } from "./load.ts";
import type { ServerLog } from "./log.ts";

const offers = ({ catalogue }: Behaviour): boolean =>
  catalogue !== undefined && catalogue.tools.length + catalogue.resources.length + catalogue.prompts.length > 0;

/** Kinds that offer something and are met through links alone, where no kind leads to them. Where one does not say ahead where it leads: none. */
const unmetIn = (kinds: readonly Behaviour[]): readonly string[] => {
  const links = kinds.map(({ catalogue }) => catalogue?.links);
  if (links.includes(undefined)) return [];
  const led = new Set(links.flatMap((to = {}) => Object.values(to).flat()));
  return kinds.filter((kind) => kind.per === "link" && offers(kind) && !led.has(kind.kind)).map(({ kind }) => kind);
};

/** Tells of kinds that were written for clients and that no client can meet. */
export const logUnmet = (log: ServerLog, { parts }: Loaded): void => {
  const kinds = parts.flatMap((part) => unmetIn(part.cast));
  if (kinds.length === 0) return;
  log("warn", "kinds-not-met", {
    kinds,
    what: "Nothing links to these kinds, so no client meets what they offer. Name them in the `kinds` of another's link, or give them another `per`.",
  });
};
