export type { DynamoSessionOptions, DynamoTables } from "./options.ts";
export { type DynamoSessionStores, dynamoSessionStores } from "./stores.ts";
export { createSessionTables } from "./stores.ts";
