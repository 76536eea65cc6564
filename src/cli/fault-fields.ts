import { TroupeError } from "../core/contract/index.ts";
import { authorPlace, omitUndefined } from "../core/contract/internal.ts";

export type FaultFields = {
  /** What kind of error. */
  readonly error: string;
  readonly code?: string;
  /** `/path/shop.ts:3:7` */
  readonly place?: string;
  readonly why?: string;
  /** What it came from, likewise. */
  readonly cause?: FaultFields;
};

// What a cause may be the cause of, and so on.
const MOST_CAUSES = 4;

/**
 * What the log says of a fault: name, code and place in the author's code. The sentence of an author's error may hold arguments
 * or state, so it is there only `inFull`; Troupe's own sentences hold neither.
 */
export const faultFields = (error: unknown, inFull: boolean, causes = MOST_CAUSES): FaultFields => {
  if (!(error instanceof Error)) return { error: typeof error };
  const place = authorPlace(error);
  return {
    error: error.name.slice(0, 100),
    ...("code" in error && typeof error.code === "string" ? { code: error.code.slice(0, 100) } : {}),
    ...omitUndefined({ place }),
    ...(inFull || error instanceof TroupeError ? { why: error.message } : {}),
    ...(causes > 0 && error.cause instanceof Error ? { cause: faultFields(error.cause, inFull, causes - 1) } : {}),
  };
};

const MAX_THROWN = 1_000;

/** What author code threw, as text. `hasSecrets`: it may contain secret arguments, so only its name is given. */
export const thrownBy = (error: unknown, hasSecrets: boolean): string | undefined => {
  const thrown = error instanceof TroupeError ? error.cause : error;
  if (thrown === undefined) return undefined;
  const name = thrown instanceof Error ? thrown.name.slice(0, 100) : `a ${typeof thrown}`;
  if (hasSecrets) return `${name}, whose text is hidden, since the message has secret arguments`;
  const text = thrown instanceof Error ? thrown.message : typeof thrown === "string" ? thrown : "";
  return text === "" ? name : `${name}: ${text.slice(0, MAX_THROWN)}`;
};
