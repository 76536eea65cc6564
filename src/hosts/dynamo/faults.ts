import { StoreError } from "../../core/contract/index.ts";

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "");

export const isNamed = (error: unknown, name: string): boolean => nameOf(error) === name;
/** The condition of a write did not hold: somebody else was first, or there is nothing to write to. */
export const isRefused = (error: unknown): boolean => isNamed(error, "ConditionalCheckFailedException");
export const isMissingTable = (error: unknown): boolean => isNamed(error, "ResourceNotFoundException");

const BUSY = new Set(["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]);
const DENIED = new Set(["AccessDeniedException", "UnrecognizedClientException", "CredentialsProviderError"]);

/** What DynamoDB or the way to it said, as a `StoreError`. */
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

/** DynamoDB keeps items of at most 400 KB (409,600 bytes), names of attributes and keys included. */
export const ITEM_BYTES = 390_000;
