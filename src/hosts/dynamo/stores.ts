// Owns: both stores on DynamoDB, and creating their tables. Does not own: reading and writing them (session-store.ts, stream-store.ts).
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTimeToLiveCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { type Closable, type SessionStore, type StreamStore, untilClosed } from "../../core/contract/index.ts";
import { isNamed, storeFault } from "./dynamo-errors.ts";
import { type DynamoSessionOptions, type DynamoTables, type Settings, settingsOf } from "./dynamo-settings.ts";
import { DynamoSessions } from "./session-store.ts";
import { StreamEnds } from "./stream-head.ts";
import { DynamoStreams } from "./stream-store.ts";

export interface DynamoSessionStores extends Closable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

/**
 * A session store and a stream store on two tables of DynamoDB, for servers that share nothing else. Disposing any of the three closes
 * all. A session of more than about 390,000 bytes is refused (`STORE_FULL`); a message of that size is sent, but cannot be resumed.
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
    const settings = settingsOf("dynamoSessionStores", options);
    const ends = new StreamEnds(settings);
    const run = untilClosed(storeFault);
    this.#close = async () => {
      run.close();
      settings.close();
    };
    this.sessions = new DynamoSessions(settings, ends, run, this.#close);
    this.streams = new DynamoStreams(settings, ends, run, this.#close);
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
 * Creates the two tables if they do not exist, billed per request, with their time to live enabled, and settles when they can be used.
 * For development and tests: in production, declare them in your infrastructure. Throws `StoreError`.
 */
export async function createSessionTables(options: DynamoTables = {}): Promise<void> {
  const settings = settingsOf("createSessionTables", options);
  try {
    await create(settings, { TableName: settings.table, AttributeDefinitions: [SESSION], KeySchema: [BY_SESSION] });
    await create(settings, { TableName: settings.streamTable, AttributeDefinitions: [SESSION, ITEM], KeySchema: [BY_SESSION, BY_ITEM] });
  } catch (error) {
    throw storeFault(error);
  } finally {
    settings.close();
  }
}

async function create({ client }: Settings, table: CreateTableCommandInput): Promise<void> {
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
    // Servers other than AWS may not support it. Expired items are then not found, but not deleted.
    if (!isNamed(error, "UnknownOperationException")) throw error;
  }
}
