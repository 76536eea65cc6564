/**
 * What the server takes. It refuses a piece of more than 32 MiB, and then has the invocation try again for ever, with its key held:
 * so what is too long is a fault of the turn, before anything is set.
 */
import { atMostBytes, exactBytes } from "../../core/chain/internal.ts";
import { EngineError, type ActorId, type Json } from "../../core/contract/index.ts";

const MEBIBYTE = 2 ** 20;
/** Of one key, one message, one answer. */
export const PIECE_BYTES = 31 * MEBIBYTE;
/** Of an event's body: an answer has it as text within text, which may be twice as long. A message ends in an event. */
export const EVENT_BYTES = 15 * MEBIBYTE;
/** Of the turn that work ends in: sealed, it is a third longer. */
export const WORK_BYTES = 22 * MEBIBYTE;

/** A text beyond it is looked at, and no other. */
export const isLonger = (text: string, bytes: number): boolean => text.length * 3 > bytes && Buffer.byteLength(text) > bytes;

export const isLarger = (value: Json, bytes: number): boolean => atMostBytes(value) > bytes && exactBytes(value) > bytes;

export const tooLarge = (id: ActorId, what: string, bytes: number): EngineError =>
  new EngineError(
    "STATE_TOO_LARGE",
    `${what} of ${id} has more than ${bytes} bytes, and the Restate server takes no more at once: keep, say and send less, or divide it.`,
  );
