export type { DynamoSessionOptions, DynamoTables } from "./dynamo-settings.ts";
export { createSessionTables, type DynamoSessionStores, dynamoSessionStores } from "./stores.ts";
