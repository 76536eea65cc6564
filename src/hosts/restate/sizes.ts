// Owns: the size limits of the server. Does not own: where they are checked (turn-writes.ts, ingress.ts).
//
// The server refuses a value of more than 32 MiB, and then retries the invocation for ever while its key is held. So what is too long
// is a fault of the turn, before anything is set.
import { atMostBytes, exactBytes } from "../../core/chain/internal.ts";
import { EngineError, type ActorId, type Json } from "../../core/contract/index.ts";

const MEBIBYTE = 2 ** 20;
/** Of one state key, one message, one answer. */
export const PIECE_BYTES = 31 * MEBIBYTE;
/** Of an event's body: an answer contains it as a JSON string, which may be twice as long. A message becomes part of an event. */
export const EVENT_BYTES = 15 * MEBIBYTE;
/** Of the turn that work ends in: sealed, it is a third longer. */
export const WORK_BYTES = 22 * MEBIBYTE;

/** Measures a text only if it may be longer. */
export const isLonger = (text: string, bytes: number): boolean => text.length * 3 > bytes && Buffer.byteLength(text) > bytes;

export const isLarger = (value: Json, bytes: number): boolean => atMostBytes(value) > bytes && exactBytes(value) > bytes;

export const tooLarge = (id: ActorId, what: string, bytes: number): EngineError =>
  new EngineError(
    "STATE_TOO_LARGE",
    `${what} of ${id} has more than ${bytes} bytes, and the Restate server takes no more at once: keep, say and send less, or divide it.`,
  );
