import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { isJsonObject, isSessionRow, type Json, type SessionRow, StoreError } from "../../core/contract/index.ts";
import { ITEM_BYTES } from "./faults.ts";

export type Item = Readonly<Record<string, AttributeValue>>;

const damaged = (): StoreError =>
  new StoreError("STORE_CORRUPT", "An item in DynamoDB is no session of this store: let nothing else write to its tables.");

export function numberIn(item: Item, name: string): number {
  const value = Number(item[name]?.N);
  if (!Number.isSafeInteger(value)) throw damaged();
  return value;
}

export function textIn(item: Item, name: string): string {
  const value = item[name]?.S;
  if (value === undefined) throw damaged();
  return value;
}

export function jsonIn(item: Item, name: string): Json {
  try {
    const value: Json = JSON.parse(textIn(item, name));
    return value;
  } catch {
    throw damaged();
  }
}

/** All of a row but what a touch moves. Throws `STORE_FULL`. */
export function dataOf(row: SessionRow): string {
  const text = JSON.stringify({ ...row, id: undefined, createdAt: undefined, seenAt: undefined });
  if (Buffer.byteLength(text) > ITEM_BYTES)
    throw new StoreError("STORE_FULL", "This session is larger than DynamoDB keeps in one item (400 KB): let clients subscribe to less.");
  return text;
}

export function rowOf(item: Item): SessionRow {
  const data = jsonIn(item, "data");
  const row = { id: textIn(item, "sessionId"), createdAt: numberIn(item, "createdAt"), seenAt: numberIn(item, "seenAt") };
  const whole = isJsonObject(data) ? { ...data, ...row } : undefined;
  if (!isSessionRow(whole)) throw damaged();
  return whole;
}
