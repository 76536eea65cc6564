// Owns: sessions in DynamoDB, one item each. Does not own: their streams (stream-store.ts).
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
  isJsonObject,
  isSessionRow,
  type Json,
  type SessionChange,
  type SessionRow,
  type SessionStore,
  StoreError,
} from "../../core/contract/index.ts";
import { isConditionFailed, ITEM_BYTES } from "./dynamo-errors.ts";
import { expiresAt, secondsNow, type Settings } from "./dynamo-settings.ts";
import type { StreamEnds } from "./stream-head.ts";

/** Of colliding writers, one succeeds at each try. */
const MOST_TRIES = 100;

/** Whether a session can have this id. Clients may send ids of any length, but a key has at most 2,048 bytes. */
export const isPossibleId = (id: string): boolean => id !== "" && id.length <= 512;

/**
 * Sessions as one item each. Conflicts between processes are resolved by DynamoDB's conditions: `rev` counts the writes, and a change is
 * written only to the revision that was read. The AWS SDK repeats writes whose answer was lost; each of them is idempotent.
 */
export class DynamoSessions implements SessionStore {
  readonly #settings: Settings;
  readonly #ends: StreamEnds;
  readonly #run: Ask;
  readonly #close: () => Promise<void>;
  #isLogged = false;

  constructor(settings: Settings, ends: StreamEnds, run: Ask, close: () => Promise<void>) {
    this.#settings = settings;
    this.#ends = ends;
    this.#run = run;
    this.#close = close;
  }

  put(row: SessionRow): Promise<void> {
    return this.#run(async () => {
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
      // A session may start again under the id of one that has ended. Its streams then start again, too.
      if (before === undefined || this.#readOwn(() => this.#continues(before, row)) !== true) await this.#ends.open(row.id);
    });
  }

  get(id: string): Promise<SessionRow | undefined> {
    return this.#run(async () => {
      const item = await this.#item(id);
      return item && this.#readOwn(() => rowOf(item));
    });
  }

  change(id: string, change: SessionChange): Promise<SessionRow | undefined> {
    return this.#run(async () => {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const item = await this.#item(id);
        const found = item && this.#readOwn(() => ({ row: rowOf(item), rev: numberIn(item, "rev") }));
        if (found === undefined) return undefined;
        const { row, rev } = found;
        const changed = changedSession(row, change);
        if (changed === row) return row;
        const written = await this.#update(id, {
          // Without `seenAt`, which a touch may have changed since.
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
    return this.#run(async () => {
      if (!isPossibleId(id)) return;
      await this.#update(id, {
        UpdateExpression: "SET seenAt = :seen, expiresAt = :expires",
        ConditionExpression: "attribute_exists(sessionId) AND seenAt < :seen AND expiresAt >= :now",
        ExpressionAttributeValues: { ...this.#seen(seenAt), ":now": { N: String(secondsNow(this.#settings)) } },
      });
    });
  }

  delete(id: string): Promise<void> {
    return this.#run(async () => {
      if (!isPossibleId(id)) return;
      await this.#settings.client.send(new DeleteItemCommand({ TableName: this.#settings.table, Key: keyOf(id) }));
      await this.#ends.close(id);
    });
  }

  expire(seenBefore: number): Promise<readonly string[]> {
    return this.#run(async () => {
      const expired: string[] = [];
      if (!this.#settings.sweep) return expired;
      const before = { ":before": { N: String(seenBefore) } };
      const query = { TableName: this.#settings.table, FilterExpression: "seenAt < :before", ExpressionAttributeValues: before };
      for await (const { Items = [] } of paginateScan({ client: this.#settings.client }, query))
        for (const item of Items) {
          const id = textIn(item, "sessionId");
          if (await this.#deleteUnseen(id, before)) expired.push(id);
        }
      return expired;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }

  // DynamoDB deletes expired items within days, not at once.
  #isExpired(item: Item): boolean {
    return secondsNow(this.#settings) > numberIn(item, "expiresAt");
  }

  // With an equal `createdAt`, the AWS SDK may have repeated a write whose answer was lost. What was there before it is then unknown.
  #continues(before: Item, { createdAt }: SessionRow): boolean {
    return !this.#isExpired(before) && numberIn(before, "createdAt") !== createdAt;
  }

  #seen(seenAt: number): Record<string, AttributeValue> {
    // The stored time may be older than the true one by a tenth of the TTL, since sessions are touched only that often.
    return { ":seen": { N: String(seenAt) }, ":expires": { N: expiresAt(seenAt + this.#settings.ttlMs / 10, this.#settings) } };
  }

  async #item(id: string): Promise<Item | undefined> {
    if (!isPossibleId(id)) return undefined;
    const { client, table } = this.#settings;
    const { Item: item } = await client.send(new GetItemCommand({ TableName: table, Key: keyOf(id), ConsistentRead: true }));
    return item !== undefined && this.#readOwn(() => !this.#isExpired(item)) === true ? item : undefined;
  }

  /**
   * What `read` returns. Undefined: the item is not from this store, say from another server with a table of the same name. It counts as
   * absent, since a fault would block its client until the item expires.
   */
  #readOwn<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "STORE_CORRUPT") throw error;
      if (!this.#isLogged) this.#settings.log("warning", { event: "session-item-unreadable", code: error.code, text: error.message });
      this.#isLogged = true;
      return undefined;
    }
  }

  /** The attributes that `ReturnValues` requests. Undefined also if the condition does not hold. */
  async #update(id: string, input: Omit<UpdateItemCommandInput, "TableName" | "Key">): Promise<Item | undefined> {
    try {
      const command = new UpdateItemCommand({ ...input, TableName: this.#settings.table, Key: keyOf(id) });
      return (await this.#settings.client.send(command)).Attributes;
    } catch (error) {
      if (isConditionFailed(error)) return undefined;
      throw error;
    }
  }

  /** False: it was used meanwhile, or another process deleted it. */
  async #deleteUnseen(id: string, before: Record<string, AttributeValue>): Promise<boolean> {
    const condition = { ConditionExpression: "seenAt < :before", ExpressionAttributeValues: before };
    try {
      await this.#settings.client.send(new DeleteItemCommand({ TableName: this.#settings.table, Key: keyOf(id), ...condition }));
    } catch (error) {
      if (isConditionFailed(error)) return false;
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

/** All of a row except what a touch changes. Throws `STORE_FULL`. */
function dataOf(row: SessionRow): string {
  const text = JSON.stringify({ ...row, id: undefined, createdAt: undefined, seenAt: undefined });
  if (Buffer.byteLength(text) > ITEM_BYTES)
    throw new StoreError("STORE_FULL", "This session is larger than DynamoDB keeps in one item (400 KB): let clients subscribe to less.");
  return text;
}

function rowOf(item: Item): SessionRow {
  const data = jsonIn(item, "data");
  const row = { id: textIn(item, "sessionId"), createdAt: numberIn(item, "createdAt"), seenAt: numberIn(item, "seenAt") };
  const whole = isJsonObject(data) ? { ...data, ...row } : undefined;
  if (!isSessionRow(whole)) throw damaged();
  return whole;
}
