// Owns: requests of exporters, importers and operators to the server, and their errors. Does not own: what they request (exporter.ts,
// importer.ts, operator.ts).
import {
  EngineError,
  StoreError,
  systemClock,
  systemEntropy,
  type Clock,
  type Entropy,
  type StoreCode,
} from "../../core/contract/index.ts";
import { AdminApi } from "./admin-api.ts";
import type { Handler } from "./durable-context.ts";
import { MapClient } from "./map-client.ts";
import { Names } from "./names.ts";
import { GuardedIngress } from "./ingress.ts";
import { sealer, unsealed, type Sealer } from "./sealer.ts";

/** Options of `restateExporter` and `restateImporter`. */
export interface TransferOptions {
  /** URL of the server's HTTP ingress. */
  readonly ingress: string;
  /** URL of its admin API. */
  readonly admin: string;
  /** The secret of the nodes. Required if kinds have secrets: messages to them are sealed with it. */
  readonly secret?: Uint8Array;
  /** Prefix of the nodes' names. Default none. */
  readonly prefix?: string;
  /** The clock of actors. */
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** The clock of retries. Default the system's, whatever `clock` is. */
  readonly patience?: Clock;
  /** How long a step waits for the server and its nodes. At most 5 minutes. Default 60 s. */
  readonly patienceMs?: number;
}

/** Requests of exports, imports and operators to the server. Use it within `withStoreErrors`, which throws only `StoreError`. */
export class TransferClient {
  readonly names: Names;
  readonly clock: Clock;
  readonly patience: Clock;
  readonly admin: AdminApi;
  readonly maps: MapClient;
  readonly sealer: Sealer | undefined;
  readonly ingress: GuardedIngress;

  constructor(options: TransferOptions) {
    const { ingress, admin, secret, prefix = "", clock = systemClock, entropy = systemEntropy, patience = systemClock } = options;
    const { patienceMs = 60_000 } = options;
    this.names = new Names(prefix);
    this.clock = clock;
    this.patience = patience;
    this.admin = new AdminApi(admin, this.names);
    this.sealer = secret === undefined ? undefined : sealer(secret);
    this.maps = new MapClient({ ingress, clock: patience, entropy, patienceMs, prefix });
    this.ingress = new GuardedIngress({ ingress, clock: patience, entropy, patienceMs });
  }

  /** Throws `STORE_CORRUPT` if it was sealed with another secret, or there is no secret. */
  open(value: unknown): unknown {
    return (this.sealer ?? unsealed).open(value);
  }

  /** An idempotent step. */
  ask(to: Handler, input: unknown): Promise<unknown> {
    return this.ingress.read({ ...to, input });
  }

  /** Applied once, however often it is sent. */
  once(to: Handler, input: unknown): Promise<unknown> {
    return this.ingress.write({ ...to, input });
  }
}

export async function withStoreErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw storeFault(error);
  }
}

export async function* eachWithStoreErrors<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw storeFault(error);
  }
}

function storeFault(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code, message } = error;
  if (isStoreCode(code)) return new StoreError(code, message, { cause: error });
  const why =
    code === "ENGINE_MISSING"
      ? `No node of this version that is registered serves this kind: start nodes with it, run "troupe cluster register", then try again. ${message}`
      : message;
  return new StoreError("STORE_IO", why, { cause: error });
}

const isStoreCode = (code: string): code is StoreCode => code.startsWith("STORE_");

export const conflict = (what: string): StoreError =>
  new StoreError("STORE_CONFLICT", `${what} Nothing is ever merged: import into another place.`);

export const unexpectedStoreAnswer = (what: string): StoreError =>
  new StoreError("STORE_IO", `What serves ${what} answered something else than this version understands: register nodes of this version.`);
