/**
 * The part of `@restatedev/restate-sdk` (1.17) that is used, by shape: the SDK is
 * not a dependency. Whoever serves actors on Restate installs it and hands it over.
 */
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { isObject } from "./is-object.ts";

/** What is used of `@restatedev/restate-sdk`, which the caller imports. */
export interface RestateSdk {
  object(definition: { readonly name: string; readonly handlers: Readonly<Record<string, unknown>> }): Defined;
  service(definition: { readonly name: string; readonly handlers: Readonly<Record<string, unknown>> }): Defined;
  readonly handlers: {
    readonly handler: (options: HandlerOptions, run: (context: SdkContext, input: unknown) => Promise<unknown>) => unknown;
    readonly object: {
      readonly exclusive: (options: HandlerOptions, run: (context: ExclusiveContext, input: unknown) => Promise<unknown>) => unknown;
      readonly shared: (options: HandlerOptions, run: (context: SharedContext, input: unknown) => Promise<unknown>) => unknown;
    };
  };
  readonly serde: { readonly json: JsonSerde };
  createEndpointHandler(options: {
    readonly services: Defined[];
    /** Both ways on one stream, which HTTP/2 is needed for. */
    readonly bidirectional: boolean;
    /** Public keys (`publickeyv1_…`): requests that are not signed by one of them are refused. */
    readonly identityKeys?: string[];
    readonly logger: () => void;
  }): (request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

/** What the SDK makes of handlers. */
export interface Defined {
  readonly name: string;
}

/** Durations are milliseconds. */
interface HandlerOptions {
  /** State is fetched key by key, instead of all of it travelling with each call. */
  readonly enableLazyState?: boolean;
  readonly journalRetention: number;
  readonly idempotencyRetention?: number;
  /** Of silence, before the server asks a handler to pause. */
  readonly inactivityTimeout?: number;
  /** After that, before it is cut off. */
  readonly abortTimeout?: number;
  readonly retryPolicy?: {
    readonly initialInterval?: number;
    readonly maxInterval?: number;
    readonly exponentiationFactor?: number;
    readonly maxAttempts?: number;
  };
}

interface JsonSerde {
  readonly contentType?: string;
  serialize(value: unknown): Uint8Array;
  deserialize(bytes: Uint8Array): unknown;
}

interface Called {
  readonly service: string;
  readonly method: string;
  readonly key?: string;
  readonly parameter: unknown;
  readonly inputSerde: JsonSerde;
}

export interface SdkContext {
  genericCall(call: Called & { readonly outputSerde: JsonSerde }): PromiseLike<unknown>;
  genericSend(send: Called & { readonly delay?: number }): unknown;
  cancel(invocation: string): void;
  request(): { readonly id: string; readonly attemptCompletedSignal: AbortSignal };
}

/** How text is kept as it is. */
export interface TextSerde {
  readonly contentType: string;
  serialize(text: string): Uint8Array;
  deserialize(bytes: Uint8Array): string;
}

export interface SharedContext extends SdkContext {
  readonly key: string;
  /** Null where nothing is kept under that name. */
  get(name: string, serde?: TextSerde): Promise<unknown>;
}

export interface ExclusiveContext extends SharedContext {
  set(name: string, value: unknown, serde?: TextSerde): void;
  clear(name: string): void;
  clearAll(): void;
  run(name: string, action: () => Promise<unknown>, options?: { readonly initialRetryInterval?: number }): PromiseLike<unknown>;
  sleep(ms: number): PromiseLike<void>;
}

/** Whether a module that was loaded by its name is the SDK. */
export function isRestateSdk(loaded: unknown): loaded is RestateSdk {
  if (!isObject(loaded)) return false;
  if (["object", "service", "createEndpointHandler"].some((name) => typeof loaded[name] !== "function")) return false;
  const { handlers, serde } = loaded;
  if (!isObject(serde) || !isObject(handlers) || !isObject(handlers["object"]) || typeof handlers["handler"] !== "function") return false;
  return typeof handlers["object"]["exclusive"] === "function" && typeof handlers["object"]["shared"] === "function";
}
