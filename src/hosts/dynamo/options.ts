import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  type Clock,
  type Entropy,
  type Log,
  sessionTtlIn,
  STREAM_BOUNDS,
  type StreamBounds,
  systemClock,
  systemEntropy,
} from "../../core/contract/index.ts";

/** Where the tables are. */
export interface DynamoTables {
  /** Your application's, with its region, credentials and retries; it stays yours to destroy. Absent: one is made. */
  readonly client?: DynamoDBClient;
  /** Of the client that is made. Default: what the AWS SDK finds (`AWS_REGION`, …), as for credentials. */
  readonly region?: string;
  /** Of the client that is made: a server that speaks DynamoDB's protocol, in place of AWS. */
  readonly endpoint?: string;
  /** Default: `MCP_SESSION_TABLE`, else `mcp-sessions`. Its partition key is `sessionId`, a string. */
  readonly table?: string;
  /** Default: `MCP_STREAM_TABLE`, else the other table's name and `-streams`. Keys: `sessionId`, and `item` to sort by; strings. */
  readonly streamTable?: string;
  /** Variables of the environment. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface DynamoSessionOptions extends DynamoTables {
  /**
   * How long a session and what was sent in it are kept after they were last touched; a session a tenth longer, as it is touched no more
   * often. Default: `MCP_SESSION_TTL_MINUTES`, else 60 minutes.
   */
  readonly ttlMs?: number;
  /** What of a stream may be asked for again; up to twice as much is stored. */
  readonly bounds?: Partial<StreamBounds>;
  /** `expire` reads the whole table, for tables without a time to live. Default false: what has expired is not found, and DynamoDB deletes it. */
  readonly sweep?: boolean;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** Hears once of items that are no sessions of this store: they count as none. Default: nothing is logged. */
  readonly log?: Log;
}

/** The options with nothing left open. */
export interface Place {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly streamTable: string;
  readonly ttlMs: number;
  readonly bounds: StreamBounds;
  readonly sweep: boolean;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** The client, where it was made here. */
  close(): void;
}

const set = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

export function placeOf(options: DynamoSessionOptions): Place {
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

/** In seconds, rounded so that an item counts until after its last one. */
export const secondsNow = ({ clock }: Place): number => Math.floor(clock.now() / 1_000);

/** Of the TTL attribute, in whole seconds since 1970: never before it is over. */
export const expiresAt = (seenAt: number, { ttlMs }: Place): string => String(Math.ceil((seenAt + ttlMs) / 1_000));
