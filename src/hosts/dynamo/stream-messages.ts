// Owns: the messages of streams as items of the table. Does not own: which of them count (stream-head.ts).
import { hash } from "node:crypto";
import {
  type AttributeValue,
  BatchWriteItemCommand,
  DeleteItemCommand,
  paginateQuery,
  PutItemCommand,
  type WriteRequest,
} from "@aws-sdk/client-dynamodb";
import { expiresAt, secondsNow, type Settings } from "./dynamo-settings.ts";
import { type Item, numberIn, textIn } from "./session-store.ts";
import type { Mark, Written } from "./stream-head.ts";

export interface Message extends Mark {
  readonly text: string;
}

type Key = Record<string, AttributeValue>;

/** DynamoDB deletes so many items at once, and returns those it did not delete. */
const BATCH = 25;
const MOST_TRIES = 10;
const AGAIN_MS = 100;

/*
 * A stream's messages have keys in their order, and each names its predecessor. Only those reachable from the head count. A message is
 * written before the head names it: if its writer fails in between, or another writer is first, it is never reachable.
 */
const DIGITS = 15;
const prefix = (stream: string): string => `${hash("sha256", stream, "hex").slice(0, 32)}#`;
const place = (n: number): string => String(n).padStart(DIGITS, "0");
const keyOf = (session: string, stream: string, { n, mark }: Mark): Key => ({
  sessionId: { S: session },
  item: { S: `${prefix(stream)}${place(n)}#${mark}` },
});

export class StreamMessages {
  readonly #settings: Settings;

  constructor(where: Settings) {
    this.#settings = where;
  }

  async put(session: string, stream: string, { text, ...at }: Message, before: Mark | undefined): Promise<void> {
    const { client, streamTable, clock } = this.#settings;
    const item = {
      ...keyOf(session, stream, at),
      n: { N: String(at.n) },
      mark: { S: at.mark },
      beforeN: { N: String(before?.n ?? 0) },
      beforeMark: { S: before?.mark ?? "" },
      message: { S: text },
      expiresAt: { N: expiresAt(clock.now(), this.#settings) },
    };
    await client.send(new PutItemCommand({ TableName: streamTable, Item: item }));
  }

  /** Deletes a message that did not become reachable. */
  async take(session: string, stream: string, at: Mark): Promise<void> {
    await this.#settings.client.send(new DeleteItemCommand({ TableName: this.#settings.streamTable, Key: keyOf(session, stream, at) }));
  }

  /** The messages after that one. Undefined: it does not exist (with that mark), or more follow than the bounds allow. */
  async after(session: string, last: Written, { n, mark }: Partial<Mark> & Pick<Mark, "n">): Promise<readonly Message[] | undefined> {
    const most = this.#settings.bounds;
    const found: Message[] = [];
    let bytes = 0;
    let at: Mark = last;
    if (at.n > n)
      for await (const item of this.#backwards(session, last.name, n + 1, last.n)) {
        const one = { n: numberIn(item, "n"), mark: textIn(item, "mark") };
        if (one.n !== at.n || one.mark !== at.mark) continue;
        if (secondsNow(this.#settings) > numberIn(item, "expiresAt")) return undefined;
        const text = textIn(item, "message");
        bytes += Buffer.byteLength(text);
        if (found.push({ ...one, text }) > most.messages || bytes > most.bytes) return undefined;
        at = { n: numberIn(item, "beforeN"), mark: textIn(item, "beforeMark") };
        if (at.n <= n) break;
      }
    return at.n === n && (mark === undefined || at.mark === mark) ? found.toReversed() : undefined;
  }

  /** Deletes the messages of the stream that exceed the bounds. Returns the number and size of the others. */
  async trim(session: string, last: Written): Promise<Pick<Written, "count" | "bytes">> {
    const most = this.#settings.bounds;
    const dropped: Key[] = [];
    let [count, bytes] = [0, 0];
    for await (const item of this.#backwards(session, last.name, 0, last.n)) {
      const size = Buffer.byteLength(textIn(item, "message"));
      if (dropped.length > 0 || count + 1 > most.messages || bytes + size > most.bytes) dropped.push(onlyKey(item));
      else [count, bytes] = [count + 1, bytes + size];
    }
    await this.#delete(dropped);
    return { count, bytes };
  }

  /** Deletes all messages of a stream. */
  async drop(session: string, stream: string): Promise<void> {
    await this.#delete(await this.#keys(session, prefix(stream)));
  }

  /** Deletes all messages of a session. */
  async dropAll(session: string): Promise<void> {
    const keys = await this.#keys(session, "");
    await this.#delete(keys.filter(({ item }) => item?.S !== "head"));
  }

  async *#backwards(session: string, stream: string, from: number, to: number): AsyncGenerator<Item> {
    const query = {
      TableName: this.#settings.streamTable,
      KeyConditionExpression: "sessionId = :session AND #item BETWEEN :from AND :to",
      ExpressionAttributeNames: { "#item": "item" },
      ExpressionAttributeValues: {
        ":session": { S: session },
        ":from": { S: `${prefix(stream)}${place(from)}#` },
        ":to": { S: `${prefix(stream)}${place(to)}#~` },
      },
      ConsistentRead: true,
      ScanIndexForward: false,
    };
    for await (const { Items = [] } of paginateQuery({ client: this.#settings.client }, query)) yield* Items;
  }

  async #keys(session: string, start: string): Promise<readonly Key[]> {
    const query = {
      TableName: this.#settings.streamTable,
      KeyConditionExpression: `sessionId = :session${start === "" ? "" : " AND begins_with(#item, :start)"}`,
      ExpressionAttributeNames: { "#item": "item" },
      ExpressionAttributeValues: { ":session": { S: session }, ...(start === "" ? undefined : { ":start": { S: start } }) },
      ProjectionExpression: "sessionId, #item",
      ConsistentRead: true,
    };
    const keys: Key[] = [];
    for await (const { Items = [] } of paginateQuery({ client: this.#settings.client }, query)) keys.push(...Items.map(onlyKey));
    return keys;
  }

  async #delete(keys: readonly Key[]): Promise<void> {
    const { client, streamTable, clock } = this.#settings;
    let waiting: WriteRequest[] = keys.map((key) => ({ DeleteRequest: { Key: key } }));
    let tries = 0;
    // They are unreachable: those that remain are deleted by their time to live.
    while (waiting.length > 0 && tries < MOST_TRIES) {
      const batch = { RequestItems: { [streamTable]: waiting.slice(0, BATCH) } };
      const { UnprocessedItems = {} } = await client.send(new BatchWriteItemCommand(batch));
      const left = UnprocessedItems[streamTable] ?? [];
      waiting = [...waiting.slice(BATCH), ...left];
      if (left.length === 0) continue;
      tries += 1;
      await new Promise<void>((resolve) => clock.after(AGAIN_MS * tries, resolve));
    }
  }
}

const onlyKey = (item: Item): Key => ({ sessionId: { S: textIn(item, "sessionId") }, item: { S: textIn(item, "item") } });
