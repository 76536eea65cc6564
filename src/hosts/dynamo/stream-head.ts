import { GetItemCommand, UpdateItemCommand, type AttributeValue, DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { type Json, StoreError } from "../../core/contract/index.ts";
import { isRefused, isMissingTable } from "./faults.ts";
import { type Place, secondsNow, expiresAt } from "./options.ts";
import { jsonIn, numberIn, textIn } from "./session-store.ts";

/** A message's place: where it is among all of its session, and which of those that were written for there it is. */
export interface Mark {
  readonly n: number;
  readonly mark: string;
}

/** A stream, by its last message. */
export interface Written extends Mark {
  readonly name: string;
  /** Messages stored, and their bytes. */
  readonly count: number;
  readonly bytes: number;
}

/** What a session's streams are: nothing that is not said here counts. */
export interface Head {
  /** Another after each writing; undefined: it is the first. */
  readonly rev?: string;
  /** Of the latest message. */
  readonly last: number;
  readonly closed: boolean;
  /** In seconds: after that its streams are gone, whether or not DynamoDB has deleted it. */
  readonly until: number;
  /** In the order they were last written to. */
  readonly streams: readonly Written[];
}

export async function readHead(place: Place, session: string): Promise<Head> {
  const { client, streamTable, clock } = place;
  const { Item: item } = await client.send(new GetItemCommand({ TableName: streamTable, Key: headKey(session), ConsistentRead: true }));
  // Numbers go on from the time, so that none comes again where DynamoDB has deleted the head of a session that goes on.
  if (item === undefined) return { last: Math.max(0, Math.floor(clock.now()) - 1), closed: false, until: Infinity, streams: [] };
  const rev = textIn(item, "rev");
  const until = numberIn(item, "expiresAt");
  if (item["closed"]?.BOOL === true) return { rev, last: 0, closed: true, until, streams: [] };
  const streams = secondsNow(place) > until ? [] : streamsOf(jsonIn(item, "streams"));
  return { rev, last: numberIn(item, "last"), closed: false, until, streams };
}

/** In place of the one that was read. False: it is another by now. */
export async function writeHead(
  place: Place,
  session: string,
  before: Head,
  { rev, last, until, streams }: Head & { readonly rev: string },
): Promise<boolean> {
  const { client, streamTable } = place;
  try {
    await client.send(
      new UpdateItemCommand({
        TableName: streamTable,
        Key: headKey(session),
        UpdateExpression: "SET rev = :rev, #last = :last, streams = :streams, expiresAt = :expires",
        ConditionExpression: before.rev === undefined ? "attribute_not_exists(rev)" : "rev = :before",
        ExpressionAttributeNames: { "#last": "last" },
        ExpressionAttributeValues: {
          ":rev": { S: rev },
          ":last": { N: String(last) },
          ":streams": { S: JSON.stringify(streams.map(({ name, n, mark, count, bytes }) => [name, n, mark, count, bytes])) },
          ":expires": { N: String(until) },
          ...(before.rev === undefined ? undefined : { ":before": { S: before.rev } }),
        },
      }),
    );
    return true;
  } catch (error) {
    if (isRefused(error)) return false;
    throw error;
  }
}

const damaged = (): StoreError =>
  new StoreError("STORE_CORRUPT", "An item in DynamoDB is no stream of this store: let nothing else write to its tables.");

function streamsOf(value: Json): readonly Written[] {
  if (!Array.isArray(value)) throw damaged();
  return value.map((one: Json): Written => {
    const [name, n, mark, count, bytes] = Array.isArray(one) ? one : [];
    if (typeof name !== "string" || typeof mark !== "string") throw damaged();
    if (typeof n !== "number" || typeof count !== "number" || typeof bytes !== "number") throw damaged();
    return { name, n, mark, count, bytes };
  });
}

export const headKey = (session: string): Record<string, AttributeValue> => ({ sessionId: { S: session }, item: { S: "head" } });

/** Whether a session's streams take messages: once it has ended none, so that a call that outlives it leaves nothing behind. */
export class StreamEnds {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  close(session: string): Promise<void> {
    const { streamTable, clock, entropy } = this.#place;
    return this.#try(
      new UpdateItemCommand({
        TableName: streamTable,
        Key: headKey(session),
        UpdateExpression: "SET closed = :yes, rev = :rev, expiresAt = :expires REMOVE streams",
        ExpressionAttributeValues: {
          ":yes": { BOOL: true },
          ":rev": { S: entropy.hex(8) },
          ":expires": { N: expiresAt(clock.now(), this.#place) },
        },
      }),
    );
  }

  /** What an earlier session of that id was sent is nothing of this one's. */
  open(session: string): Promise<void> {
    return this.#try(new DeleteItemCommand({ TableName: this.#place.streamTable, Key: headKey(session) }));
  }

  // Who keeps no streams here needs no table for them; who does hears of it from the first message.
  async #try(command: UpdateItemCommand | DeleteItemCommand): Promise<void> {
    const { client } = this.#place;
    try {
      await (command instanceof UpdateItemCommand ? client.send(command) : client.send(command));
    } catch (error) {
      if (!isMissingTable(error)) throw error;
    }
  }
}
