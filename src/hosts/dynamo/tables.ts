import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTimeToLiveCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { isNamed, storeFault } from "./faults.ts";
import { type DynamoTables, type Place, placeOf } from "./options.ts";

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
