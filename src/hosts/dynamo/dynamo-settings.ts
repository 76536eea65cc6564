// Owns: the options of the stores in DynamoDB, and their defaults. Does not own: the stores (stores.ts).
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  boundsOf,
  checkOptions,
  type Clock,
  type Entropy,
  FUNCTION,
  type Log,
  type OptionTable,
  sessionTtlIn,
  STREAM_BOUNDS,
  type StreamBounds,
  systemClock,
  systemEntropy,
} from "../../core/contract/index.ts";

/** The location of the tables. */
export interface DynamoTables {
  /** Your own client, with its region, credentials and retries; you destroy it. Absent: one is made. */
  readonly client?: DynamoDBClient;
  /** The region of the client that is made. Default: what the AWS SDK finds (`AWS_REGION`, …), as for credentials. */
  readonly region?: string;
  /** The endpoint of the client that is made: a server with DynamoDB's protocol, instead of AWS. */
  readonly endpoint?: string;
  /** The table of sessions. Default: `MCP_SESSION_TABLE`, else `mcp-sessions`. Its partition key is `sessionId`, a string. */
  readonly table?: string;
  /** The table of streams. Default: `MCP_STREAM_TABLE`, else the other table's name and `-streams`. Keys: `sessionId`, and `item` as the sort key; strings. */
  readonly streamTable?: string;
  /** Environment variables. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface DynamoSessionOptions extends DynamoTables {
  /**
   * How long a session and its streams are stored after they were last used, in milliseconds; a session a tenth longer, since it is
   * touched only that often. Default: `MCP_SESSION_TTL_MINUTES`, else 60 minutes.
   */
  readonly ttlMs?: number;
  /** How much of a stream can be resumed. Up to twice as much is stored. */
  readonly bounds?: Partial<StreamBounds>;
  /** If true, `expire` scans the whole table, for tables without a time to live. Default false: expired items are not found, and DynamoDB deletes them. */
  readonly sweep?: boolean;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** Logs, once, that there are items which are not sessions of this store; they are ignored. Default: nothing is logged. */
  readonly log?: Log;
}

/** The options with their defaults. */
export interface Settings {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly streamTable: string;
  readonly ttlMs: number;
  readonly bounds: StreamBounds;
  readonly sweep: boolean;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Destroys the client if it was made here. */
  close(): void;
}

const set = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

const OPTIONS: OptionTable<DynamoSessionOptions> = {
  client: true,
  region: true,
  endpoint: true,
  table: true,
  streamTable: true,
  env: true,
  ttlMs: true,
  bounds: boundsOf(STREAM_BOUNDS),
  sweep: true,
  clock: true,
  entropy: true,
  log: FUNCTION,
};

/** `of` names what takes the options. Throws `BAD_OPTION`. */
export function settingsOf(of: string, options: DynamoSessionOptions): Settings {
  checkOptions(of, options, OPTIONS);
  const {
    region,
    endpoint,
    env = process.env,
    clock = systemClock,
    entropy = systemEntropy,
    sweep = false,
    log = () => undefined,
  } = options;
  const table = options.table ?? set(env["MCP_SESSION_TABLE"]) ?? "mcp-sessions";
  const client =
    options.client ??
    new DynamoDBClient({ ...(region === undefined ? undefined : { region }), ...(endpoint === undefined ? undefined : { endpoint }) });
  return {
    client,
    table,
    streamTable: options.streamTable ?? set(env["MCP_STREAM_TABLE"]) ?? `${table}-streams`,
    ttlMs: options.ttlMs ?? sessionTtlIn(env),
    bounds: { ...STREAM_BOUNDS, ...options.bounds },
    sweep,
    clock,
    entropy,
    log,
    close() {
      if (options.client === undefined) client.destroy();
    },
  };
}

/** In seconds, rounded down: an item is valid through its last second. */
export const secondsNow = ({ clock }: Settings): number => Math.floor(clock.now() / 1_000);

/** The TTL attribute, in whole seconds since 1970, rounded up so that it is never too early. */
export const expiresAt = (seenAt: number, { ttlMs }: Settings): string => String(Math.ceil((seenAt + ttlMs) / 1_000));
