import {
  type AttributeValue,
  DeleteItemCommand,
  GetItemCommand,
  paginateScan,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from "@aws-sdk/client-dynamodb";
import {
  type Ask,
  changedSession,
  type SessionChange,
  type SessionRow,
  type SessionStore,
  StoreError,
  isJsonObject,
  isSessionRow,
  type Json,
} from "../../core/contract/index.ts";
import { isRefused, ITEM_BYTES } from "./faults.ts";
import { expiresAt, type Place, secondsNow } from "./options.ts";
import type { StreamEnds } from "./stream-head.ts";

/** Of writers who collide one gets through each time. */
const MOST_TRIES = 100;

/** Clients send ids of any length, and none that long was put: a key has at most 2,048 bytes. */
export const canBe = (id: string): boolean => id !== "" && id.length <= 512;

/**
 * One item for each session. What two processes do to it at once is decided by DynamoDB's conditions: `rev` counts its
 * writings, and a change is written to the one that was read or not at all. The AWS SDK sends a write again whose answer
 * was lost; each of them does no harm twice.
 */
export class DynamoSessions implements SessionStore {
  readonly #place: Place;
  readonly #ends: StreamEnds;
  readonly #ask: Ask;
  readonly #close: () => Promise<void>;
  #told = false;

  constructor(place: Place, ends: StreamEnds, ask: Ask, close: () => Promise<void>) {
    this.#place = place;
    this.#ends = ends;
    this.#ask = ask;
    this.#close = close;
  }

  put(row: SessionRow): Promise<void> {
    return this.#ask(async () => {
      const before = await this.#update(row.id, {
        UpdateExpression:
          "SET #data = :data, createdAt = :created, seenAt = :seen, expiresAt = :expires, rev = if_not_exists(rev, :zero) + :one",
        ExpressionAttributeNames: { "#data": "data" },
        ExpressionAttributeValues: {
          ":data": { S: dataOf(row) },
          ":created": { N: String(row.createdAt) },
          ...this.#seen(row.seenAt),
          ":zero": { N: "0" },
          ":one": { N: "1" },
        },
        ReturnValues: "ALL_OLD",
      });
      // A session may begin again under the id of one that has ended: its streams then do, too.
      if (before === undefined || this.#mine(() => this.#goesOn(before, row)) !== true) await this.#ends.open(row.id);
    });
  }

  get(id: string): Promise<SessionRow | undefined> {
    return this.#ask(async () => {
      const item = await this.#item(id);
      return item && this.#mine(() => rowOf(item));
    });
  }

  change(id: string, change: SessionChange): Promise<SessionRow | undefined> {
    return this.#ask(async () => {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const item = await this.#item(id);
        const found = item && this.#mine(() => ({ row: rowOf(item), rev: numberIn(item, "rev") }));
        if (found === undefined) return undefined;
        const { row, rev } = found;
        const changed = changedSession(row, change);
        if (changed === row) return row;
        const written = await this.#update(id, {
          // Not when it was seen: a touch may have moved that since.
          UpdateExpression: "SET #data = :data, rev = :next",
          ConditionExpression: "rev = :rev",
          ExpressionAttributeNames: { "#data": "data" },
          ExpressionAttributeValues: { ":data": { S: dataOf(changed) }, ":rev": { N: String(rev) }, ":next": { N: String(rev + 1) } },
          ReturnValues: "ALL_NEW",
        });
        if (written !== undefined) return rowOf(written);
      }
      throw new StoreError("STORE_CONFLICT", "The session changed with every attempt to change it: try again.");
    });
  }

  touch(id: string, seenAt: number): Promise<void> {
    return this.#ask(async () => {
      if (!canBe(id)) return;
      await this.#update(id, {
        UpdateExpression: "SET seenAt = :seen, expiresAt = :expires",
        ConditionExpression: "attribute_exists(sessionId) AND seenAt < :seen AND expiresAt >= :now",
        ExpressionAttributeValues: { ...this.#seen(seenAt), ":now": { N: String(secondsNow(this.#place)) } },
      });
    });
  }

  delete(id: string): Promise<void> {
    return this.#ask(async () => {
      if (!canBe(id)) return;
      await this.#place.client.send(new DeleteItemCommand({ TableName: this.#place.table, Key: keyOf(id) }));
      await this.#ends.close(id);
    });
  }

  expire(seenBefore: number): Promise<readonly string[]> {
    return this.#ask(async () => {
      const gone: string[] = [];
      if (!this.#place.sweep) return gone;
      const before = { ":before": { N: String(seenBefore) } };
      const query = { TableName: this.#place.table, FilterExpression: "seenAt < :before", ExpressionAttributeValues: before };
      for await (const { Items = [] } of paginateScan({ client: this.#place.client }, query))
        for (const item of Items) {
          const id = textIn(item, "sessionId");
          if (await this.#deleteUnseen(id, before)) gone.push(id);
        }
      return gone;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }

  // DynamoDB deletes what has expired within days, not at once.
  #over(item: Item): boolean {
    return secondsNow(this.#place) > numberIn(item, "expiresAt");
  }

  // Of the same begin where the AWS SDK wrote it again, since the answer was lost: what was there before that is not known.
  #goesOn(before: Item, { createdAt }: SessionRow): boolean {
    return !this.#over(before) && numberIn(before, "createdAt") !== createdAt;
  }

  #seen(seenAt: number): Record<string, AttributeValue> {
    // What is stored may be a tenth of that older than what is true: it is touched that seldom.
    return { ":seen": { N: String(seenAt) }, ":expires": { N: expiresAt(seenAt + this.#place.ttlMs / 10, this.#place) } };
  }

  async #item(id: string): Promise<Item | undefined> {
    if (!canBe(id)) return undefined;
    const { client, table } = this.#place;
    const { Item: item } = await client.send(new GetItemCommand({ TableName: table, Key: keyOf(id), ConsistentRead: true }));
    return item !== undefined && this.#mine(() => !this.#over(item)) === true ? item : undefined;
  }

  /**
   * What is read of an item. Undefined: something else wrote it, other servers' sessions say, which lie in a table of this name too. It
   * counts as none: as a fault it would stand in its client's way until its time is over.
   */
  #mine<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "STORE_CORRUPT") throw error;
      if (!this.#told) this.#place.log("warning", { event: "session-item-unreadable", code: error.code, text: error.message });
      this.#told = true;
      return undefined;
    }
  }

  /** What `ReturnValues` asks for; undefined also where the condition does not hold. */
  async #update(id: string, input: Omit<UpdateItemCommandInput, "TableName" | "Key">): Promise<Item | undefined> {
    try {
      const command = new UpdateItemCommand({ ...input, TableName: this.#place.table, Key: keyOf(id) });
      return (await this.#place.client.send(command)).Attributes;
    } catch (error) {
      if (isRefused(error)) return undefined;
      throw error;
    }
  }

  /** False: it was seen meanwhile, or another process deleted it. */
  async #deleteUnseen(id: string, before: Record<string, AttributeValue>): Promise<boolean> {
    const condition = { ConditionExpression: "seenAt < :before", ExpressionAttributeValues: before };
    try {
      await this.#place.client.send(new DeleteItemCommand({ TableName: this.#place.table, Key: keyOf(id), ...condition }));
    } catch (error) {
      if (isRefused(error)) return false;
      throw error;
    }
    await this.#ends.close(id);
    return true;
  }
}

const keyOf = (id: string): Record<string, AttributeValue> => ({ sessionId: { S: id } });

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
