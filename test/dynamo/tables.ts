// DynamoDB on this machine: in memory, on a free loopback port, with fake credentials.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import dynalite from "dynalite";
import { createSessionTables, type DynamoSessionOptions } from "troupe/dynamo";
import { onLoopback } from "../on-loopback.ts";

export interface Dynamo extends AsyncDisposable {
  readonly endpoint: string;
  readonly client: DynamoDBClient;
  /** Creates new tables. */
  tables(): Promise<Required<Pick<DynamoSessionOptions, "client" | "table" | "streamTable">>>;
}

export const FAKE_CREDENTIALS = { accessKeyId: "fake", secretAccessKey: "nothing" };

export async function startDynamo(): Promise<Dynamo> {
  const server = dynalite({ createTableMs: 0, updateTableMs: 0 });
  const loopback = await onLoopback(server);
  const endpoint = loopback.url;
  const client = new DynamoDBClient({ endpoint, region: "local", credentials: FAKE_CREDENTIALS });
  let made = 0;
  return {
    endpoint,
    client,
    async tables() {
      made += 1;
      const tables = { client, table: `sessions-${made}`, streamTable: `streams-${made}` };
      await createSessionTables(tables);
      return tables;
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await loopback[Symbol.asyncDispose]();
    },
  };
}
