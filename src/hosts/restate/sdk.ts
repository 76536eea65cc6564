// Owns: the used part of `@restatedev/restate-sdk` (1.17), by shape, and the durable context made of it. Does not own: the handlers
// (actor-object.ts).
//
// The SDK is not a dependency: applications that run on Restate install it and pass it in.
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { isObject } from "./handler-inputs.ts";
import { type DurableContext, type DurableReader, type Handler, InvocationCancelled } from "./durable-context.ts";

/** The part of `@restatedev/restate-sdk` that is used; the caller imports the module. */
export interface RestateSdk {
  object(definition: { readonly name: string; readonly handlers: Readonly<Record<string, unknown>> }): SdkDefinition;
  service(definition: { readonly name: string; readonly handlers: Readonly<Record<string, unknown>> }): SdkDefinition;
  readonly handlers: {
    readonly handler: (options: HandlerOptions, run: (context: SdkContext, input: unknown) => Promise<unknown>) => unknown;
    readonly object: {
      readonly exclusive: (options: HandlerOptions, run: (context: ExclusiveContext, input: unknown) => Promise<unknown>) => unknown;
      readonly shared: (options: HandlerOptions, run: (context: SharedContext, input: unknown) => Promise<unknown>) => unknown;
    };
  };
  readonly serde: { readonly json: JsonSerde };
  createEndpointHandler(options: {
    readonly services: SdkDefinition[];
    /** Both directions on one stream, which needs HTTP/2. */
    readonly bidirectional: boolean;
    /** Public keys (`publickeyv1_…`): unsigned requests are refused. */
    readonly identityKeys?: string[];
    readonly logger: () => void;
  }): (request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

/** A definition made by the SDK. */
export interface SdkDefinition {
  readonly name: string;
}

/** Durations are in milliseconds. */
interface HandlerOptions {
  /** State is fetched key by key, instead of travelling with each call. */
  readonly enableLazyState?: boolean;
  readonly journalRetention: number;
  readonly idempotencyRetention?: number;
  /** Silence after which the server asks a handler to suspend. */
  readonly inactivityTimeout?: number;
  /** Further time after which it is cut off. */
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

interface GenericCall {
  readonly service: string;
  readonly method: string;
  readonly key?: string;
  readonly parameter: unknown;
  readonly inputSerde: JsonSerde;
}

export interface SdkContext {
  genericCall(call: GenericCall & { readonly outputSerde: JsonSerde }): PromiseLike<unknown>;
  genericSend(send: GenericCall & { readonly delay?: number }): unknown;
  cancel(invocation: string): void;
  request(): { readonly id: string; readonly attemptCompletedSignal: AbortSignal };
}

/** Stores text as it is. */
interface TextSerde {
  readonly contentType: string;
  serialize(text: string): Uint8Array;
  deserialize(bytes: Uint8Array): string;
}

export interface SharedContext extends SdkContext {
  readonly key: string;
  /** Null if nothing is stored under that name. */
  get(name: string, serde?: TextSerde): Promise<unknown>;
}

export interface ExclusiveContext extends SharedContext {
  set(name: string, value: unknown, serde?: TextSerde): void;
  clear(name: string): void;
  clearAll(): void;
  run(name: string, action: () => Promise<unknown>, options?: { readonly initialRetryInterval?: number }): PromiseLike<unknown>;
  sleep(ms: number): PromiseLike<void>;
}

/** True if a module that was loaded by its name is the SDK. */
export function isRestateSdk(loaded: unknown): loaded is RestateSdk {
  if (!isObject(loaded)) return false;
  if (["object", "service", "createEndpointHandler"].some((name) => typeof loaded[name] !== "function")) return false;
  const { handlers, serde } = loaded;
  if (!isObject(serde) || !isObject(handlers) || !isObject(handlers["object"]) || typeof handlers["handler"] !== "function") return false;
  return typeof handlers["object"]["exclusive"] === "function" && typeof handlers["object"]["shared"] === "function";
}

/**
 * A hundred years. The server counts time in 64 bits: with `Infinity` a handler would fail for ever, and a longer time might be over at
 * once.
 */
export const LONGEST_MS = 3_155_760_000_000;

/** Makes a delayed send. */
export type SendLater = (to: Handler, input: unknown, afterMs: number) => void;

/** The SDK's context, as turns see it. `later` replaces the server's own timers. */
export function durableContext(sdk: RestateSdk, context: ExclusiveContext, later?: SendLater): DurableContext {
  return {
    // Only read by work, since `request()` is expensive in the SDK.
    invocation: () => context.request().id,
    superseded: () => context.request().attemptCompletedSignal,
    ...durableReader(context),
    set: (name, value) => context.set(name, value, text),
    clear: (name) => context.clear(name),
    run: (name, action) => cancellable(context.run(name, action)),
    call: callFrom(sdk, context),
    async callAll(calls) {
      const begun = calls.map(([to, input]) => context.genericCall({ ...genericCall(sdk, to, input), outputSerde: sdk.serde.json }));
      const answers: unknown[] = [];
      // One after the other: the SDK does not allow two of its promises to be awaited at once.
      for (const answer of begun) answers.push(await cancellable(answer));
      return answers;
    },
    send(to, input, afterMs) {
      const delay = afterMs === undefined ? undefined : Math.min(Math.ceil(afterMs), LONGEST_MS);
      if (later !== undefined && delay !== undefined) return later(to, input, delay);
      context.genericSend({ ...genericCall(sdk, to, input), ...(delay === undefined || delay <= 0 ? {} : { delay }) });
    },
    sleep: (ms) => cancellable(context.sleep(ms)),
  };
}

/** The SDK's context, as reads see it. */
export const durableReader = (context: SharedContext): DurableReader => ({
  async get(name) {
    const stored = await cancellable(context.get(name, text));
    return typeof stored === "string" ? stored : undefined;
  },
});

const text: TextSerde = {
  contentType: "text/plain",
  serialize: (value) => Buffer.from(value),
  deserialize: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"),
};

export const callFrom =
  (sdk: RestateSdk, context: SdkContext): DurableContext["call"] =>
  (to, input) =>
    cancellable(context.genericCall({ ...genericCall(sdk, to, input), outputSerde: sdk.serde.json }));

const genericCall = (sdk: RestateSdk, { object, key, handler }: Handler, parameter: unknown) => ({
  service: object,
  method: handler,
  ...(key === undefined ? {} : { key }),
  parameter,
  inputSerde: sdk.serde.json,
});

async function cancellable<T>(answer: PromiseLike<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && error.name === "CancelledError") throw new InvocationCancelled("The invocation was cancelled.");
    throw error;
  }
}

/**
 * Options of every handler. Journals contain arguments, so none outlives its turn. Retries go on until they succeed: with the server's own
 * policy a handler, and its actor, would be paused if its nodes were away for some minutes.
 */
export const RETRY_FOREVER = {
  journalRetention: 0,
  retryPolicy: { initialInterval: 50, maxInterval: 5_000, exponentiationFactor: 2, maxAttempts: 1_000_000_000 },
};
