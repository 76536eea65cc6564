import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTimeToLiveCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { type Closable, type SessionStore, type StreamStore, untilClosed } from "../../core/contract/index.ts";
import { storeFault, isNamed } from "./faults.ts";
import { type DynamoSessionOptions, placeOf, type DynamoTables, type Place } from "./options.ts";
import { DynamoSessions } from "./session-store.ts";
import { StreamEnds } from "./stream-head.ts";
import { DynamoStreams } from "./stream-store.ts";

export interface DynamoSessionStores extends Closable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

/**
 * Both stores on two tables of DynamoDB, for servers that share nothing else; disposing any of the three closes it. A row of
 * more than about 390,000 bytes is refused (`STORE_FULL`); a message of that size is sent, and cannot be asked for again.
 */
export function dynamoSessionStores(options: DynamoSessionOptions = {}): DynamoSessionStores {
  return new StoresOnTables(options);
}

/** A class, so that `{ ...stores }` as options of a server copies the stores and not `close`. */
class StoresOnTables implements DynamoSessionStores {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly #close: () => Promise<void>;

  constructor(options: DynamoSessionOptions) {
    const place = placeOf(options);
    const ends = new StreamEnds(place);
    const ask = untilClosed(storeFault);
    this.#close = async () => {
      ask.close();
      place.close();
    };
    this.sessions = new DynamoSessions(place, ends, ask, this.#close);
    this.streams = new DynamoStreams(place, ends, ask, this.#close);
  }

  close(): Promise<void> {
    return this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const MOST_SECONDS = 60;
const SESSION = { AttributeName: "sessionId", AttributeType: "S" } as const;
const ITEM = { AttributeName: "item", AttributeType: "S" } as const;
const BY_SESSION = { AttributeName: SESSION.AttributeName, KeyType: "HASH" } as const;
const BY_ITEM = { AttributeName: ITEM.AttributeName, KeyType: "RANGE" } as const;

/**
 * Makes the two tables where they are not there, paid per request, with their time to live on, and settles when they can be
 * used: for development and tests. In production they are your infrastructure's to declare. Throws `StoreError`.
 */
export async function createSessionTables(options: DynamoTables = {}): Promise<void> {
  const place = placeOf(options);
  try {
    await create(place, { TableName: place.table, AttributeDefinitions: [SESSION], KeySchema: [BY_SESSION] });
    await create(place, { TableName: place.streamTable, AttributeDefinitions: [SESSION, ITEM], KeySchema: [BY_SESSION, BY_ITEM] });
  } catch (error) {
    throw storeFault(error);
  } finally {
    place.close();
  }
}

async function create({ client }: Place, table: CreateTableCommandInput): Promise<void> {
  const { TableName } = table;
  try {
    await client.send(new CreateTableCommand({ ...table, BillingMode: "PAY_PER_REQUEST" }));
  } catch (error) {
    if (!isNamed(error, "ResourceInUseException")) throw error;
  }
  await waitUntilTableExists({ client, maxWaitTime: MOST_SECONDS, minDelay: 1, maxDelay: 2 }, { TableName });
  try {
    const { TimeToLiveDescription: now } = await client.send(new DescribeTimeToLiveCommand({ TableName }));
    if (now?.TimeToLiveStatus === "ENABLED" || now?.TimeToLiveStatus === "ENABLING") return;
    const TimeToLiveSpecification = { AttributeName: "expiresAt", Enabled: true };
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  } catch (error) {
    // Servers other than AWS may have none; what has expired is not found there, and stays.
    if (!isNamed(error, "UnknownOperationException")) throw error;
  }
}
