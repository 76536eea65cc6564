// Owns: the head item of a session's streams: which messages count, and whether it is closed. Does not own: the messages (stream-messages.ts).
import { type AttributeValue, DeleteItemCommand, GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { type Json, StoreError } from "../../core/contract/index.ts";
import { isConditionFailed, isMissingTable } from "./dynamo-errors.ts";
import { expiresAt, secondsNow, type Settings } from "./dynamo-settings.ts";
import { jsonIn, numberIn, textIn } from "./session-store.ts";

/** The position of a message in its session, and a mark that distinguishes it from others written for that position. */
export interface Mark {
  readonly n: number;
  readonly mark: string;
}

/** A stream, identified by its last message. */
export interface Written extends Mark {
  readonly name: string;
  /** Messages stored, and their bytes. */
  readonly count: number;
  readonly bytes: number;
}

/** The streams of a session. Messages that the head does not lead to do not count. */
export interface Head {
  /** Changes with each write. Undefined: there is no head yet. */
  readonly rev?: string;
  /** The number of the latest message. */
  readonly last: number;
  readonly closed: boolean;
  /** In seconds. After that its streams have expired, whether or not DynamoDB has deleted them. */
  readonly until: number;
  /** In the order of their last writes. */
  readonly streams: readonly Written[];
}

export async function readHead(settings: Settings, session: string): Promise<Head> {
  const { client, streamTable, clock } = settings;
  const { Item: item } = await client.send(new GetItemCommand({ TableName: streamTable, Key: headKey(session), ConsistentRead: true }));
  // Numbers start at the time, so that none is repeated after DynamoDB has deleted the head of a session that continues.
  if (item === undefined) return { last: Math.max(0, Math.floor(clock.now()) - 1), closed: false, until: Infinity, streams: [] };
  const rev = textIn(item, "rev");
  const until = numberIn(item, "expiresAt");
  if (item["closed"]?.BOOL === true) return { rev, last: 0, closed: true, until, streams: [] };
  const streams = secondsNow(settings) > until ? [] : streamsOf(jsonIn(item, "streams"));
  return { rev, last: numberIn(item, "last"), closed: false, until, streams };
}

/** Replaces the head that was read. False: it has changed meanwhile. */
export async function writeHead(
  settings: Settings,
  session: string,
  before: Head,
  { rev, last, until, streams }: Head & { readonly rev: string },
): Promise<boolean> {
  const { client, streamTable } = settings;
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
    if (isConditionFailed(error)) return false;
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

const headKey = (session: string): Record<string, AttributeValue> => ({ sessionId: { S: session }, item: { S: "head" } });

/** Opens and closes the streams of a session. Closed ones take no messages, so that calls that outlive their session store nothing. */
export class StreamEnds {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  close(session: string): Promise<void> {
    const { streamTable, clock, entropy } = this.#settings;
    return this.#try(
      new UpdateItemCommand({
        TableName: streamTable,
        Key: headKey(session),
        UpdateExpression: "SET closed = :yes, rev = :rev, expiresAt = :expires REMOVE streams",
        ExpressionAttributeValues: {
          ":yes": { BOOL: true },
          ":rev": { S: entropy.hex(8) },
          ":expires": { N: expiresAt(clock.now(), this.#settings) },
        },
      }),
    );
  }

  /** Discards the streams of an earlier session with that id. */
  open(session: string): Promise<void> {
    return this.#try(new DeleteItemCommand({ TableName: this.#settings.streamTable, Key: headKey(session) }));
  }

  // A server without streams in DynamoDB needs no table for them. With streams, the first message fails.
  async #try(command: UpdateItemCommand | DeleteItemCommand): Promise<void> {
    const { client } = this.#settings;
    try {
      await (command instanceof UpdateItemCommand ? client.send(command) : client.send(command));
    } catch (error) {
      if (!isMissingTable(error)) throw error;
    }
  }
}
