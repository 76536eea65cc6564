import { isBag, type Message } from "../contract/index.ts";
import { damaged, parsed } from "./column.ts";

const isMessage = (value: unknown): value is Message =>
  isBag(value) &&
  typeof value["id"] === "string" &&
  typeof value["to"] === "string" &&
  typeof value["action"] === "string" &&
  "args" in value &&
  typeof value["at"] === "number" &&
  typeof value["seed"] === "string";

/** A stored message. What was written was a `Message`; its sum says that this is what was written. */
export function readMessage(written: string): Message {
  const value = parsed(written);
  if (!isMessage(value)) throw damaged("a message in the outbox is none");
  return value;
}
