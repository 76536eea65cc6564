import type { Message } from "../contract/index.ts";
import { damaged, parsed } from "./column.ts";

const isMessage = (value: unknown): value is Message =>
  typeof value === "object" &&
  value !== null &&
  "id" in value &&
  typeof value.id === "string" &&
  "to" in value &&
  typeof value.to === "string" &&
  "action" in value &&
  typeof value.action === "string" &&
  "args" in value &&
  "at" in value &&
  typeof value.at === "number" &&
  "seed" in value &&
  typeof value.seed === "string";

/** A stored message. What was written was a `Message`; its sum says that this is what was written. */
export function readMessage(written: string): Message {
  const value = parsed(written);
  if (!isMessage(value)) throw damaged("a message in the outbox is none");
  return value;
}
