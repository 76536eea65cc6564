export type { DynamoSessionOptions, DynamoTables } from "./options.ts";
export { createSessionTables, type DynamoSessionStores, dynamoSessionStores } from "./stores.ts";
