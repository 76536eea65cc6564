// Owns: errors of DynamoDB as store errors, and its limit on items. Does not own: retries (session-store.ts, stream-store.ts).
import { StoreError } from "../../core/contract/index.ts";

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "");

export const isNamed = (error: unknown, name: string): boolean => nameOf(error) === name;
/** The condition of a write did not hold: another write came first, or the item does not exist. */
export const isConditionFailed = (error: unknown): boolean => isNamed(error, "ConditionalCheckFailedException");
export const isMissingTable = (error: unknown): boolean => isNamed(error, "ResourceNotFoundException");

const BUSY = new Set(["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]);
const DENIED = new Set(["AccessDeniedException", "UnrecognizedClientException", "CredentialsProviderError"]);

/** An error of DynamoDB, or of the connection to it, as a `StoreError`. */
export function storeFault(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const fault = (text: string): StoreError => new StoreError("STORE_IO", text, { cause: error });
  if (isMissingTable(error)) return fault("DynamoDB has no such table: name the one there is, or make it with `createSessionTables`.");
  if (BUSY.has(nameOf(error))) return fault("DynamoDB takes no more requests for now: try again, or give the table more throughput.");
  if (DENIED.has(nameOf(error)))
    return fault("DynamoDB refuses these credentials: let them get, put, update, delete and query items of both tables.");
  const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return fault(`The sessions in DynamoDB are out of reach: see that it can be reached from here. ${why}`);
}

/** Less than DynamoDB's limit on items of 400 KB (409,600 bytes), which includes the names of attributes and the keys. */
export const ITEM_BYTES = 390_000;
