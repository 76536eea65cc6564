import type { TheaterEvent } from "../theater-stage.ts";
import { Fields } from "./fields.ts";
import type { Printable } from "./print-json.ts";
import type { WireValue } from "./wire-json.ts";

const SHA1_BYTES = 20;

/** The order of keys matters: this text is hashed. */
export const printEvent = (event: TheaterEvent): Printable => ({
  hash: event.hash,
  parent_hash: event.parentHash,
  event_type: event.eventType,
  data: event.data,
  timestamp: event.timestamp,
  description: event.description,
});

/** Throws `WireError` with the name of the invalid field. Newer servers omit time and description, which become 0 and null. */
export function readEvent(value: WireValue | undefined, subject: string): TheaterEvent {
  const fields = new Fields(subject, value);
  return {
    hash: fields.bytes("hash"),
    parentHash: fields.bytesOrNull("parent_hash"),
    eventType: fields.text("event_type"),
    data: fields.bytes("data"),
    timestamp: fields.has("timestamp") ? fields.count("timestamp") : 0,
    description: fields.textOrNull("description"),
  };
}

export const isSha1 = (hash: Uint8Array): boolean => hash.length === SHA1_BYTES;
