import { memoizeByString } from "../../core/contract/internal.ts";

/** Whether an Accept header takes that media type. */
export function acceptsMedia(accept: string, type: string, subtype: string): boolean {
  return accept
    .toLowerCase()
    .split(",")
    .filter((range) => !/;\s*q\s*=\s*"?0(?:\.0*)?"?\s*(?:;|$)/.test(range))
    .map((range) => range.split(";")[0]?.trim())
    .some((range) => range === "*/*" || range === `${type}/*` || range === `${type}/${subtype}`);
}

export const acceptsEvents = memoizeByString((accept) => acceptsMedia(accept, "text", "event-stream"));
