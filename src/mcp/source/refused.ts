import type { Reply } from "../../core/contract/index.ts";

export type Refused = Extract<Reply, { refused: unknown }>;

/** No such offer for this viewer: what is hidden and what never was answer alike (law 3). */
export const unknownOffer: Refused = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };

export function refused(code: string, message: string): Refused {
  return { refused: { code, message } };
}
