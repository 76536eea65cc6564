import { resolve, sep } from "node:path";
import { TroupeError } from "../core/contract/index.ts";
import { omitUndefined } from "../core/contract/internal.ts";

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
  const place = placeOf(error);
  return {
    error: error.name.slice(0, 100),
    ...("code" in error && typeof error.code === "string" ? { code: error.code.slice(0, 100) } : {}),
    ...omitUndefined({ place }),
    ...(inFull || error instanceof TroupeError ? { why: error.message } : {}),
    ...(causes > 0 && error.cause instanceof Error ? { cause: faultFields(error.cause, inFull, causes - 1) } : {}),
  };
};

const FRAME = /^ +at (?:.* \()?((?:file:\/\/|\/|[A-Za-z]:\\)[^\n()]+:\d+:\d+)\)?$/gm;
/** Troupe's own files, whether it runs from its sources or is installed. */
const TROUPE = resolve(import.meta.dirname, "..");

const isForeign = (place: string): boolean =>
  /[\\/]node_modules[\\/]/.test(place) || (place.startsWith("file://") ? place.slice("file://".length) : place).startsWith(TROUPE + sep);

/** The first line of the stack in the author's own files; else the first of all. */
const placeOf = ({ stack = "", message }: Error): string | undefined => {
  // The stack begins with the message, which may look like a stack itself.
  const frames = stack.slice(stack.indexOf(message) + message.length);
  const places = Array.from(frames.matchAll(FRAME), ([, place = ""]) => place);
  return places.find((place) => !isForeign(place)) ?? places[0];
};
