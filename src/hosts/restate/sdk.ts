import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { isObject } from "./handler-inputs.ts";
import { type DurableContext, type DurableReader, type Handler, InvocationCancelled } from "./durable-context.ts";

/**
 * The part of `@restatedev/restate-sdk` (1.17) that is used, by shape: the SDK is
 * not a dependency. Whoever serves actors on Restate installs it and hands it over.
 */

/** What is used of `@restatedev/restate-sdk`, which the caller imports. */
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
    /** Both ways on one stream, which HTTP/2 is needed for. */
    readonly bidirectional: boolean;
    /** Public keys (`publickeyv1_…`): requests that are not signed by one of them are refused. */
    readonly identityKeys?: string[];
    readonly logger: () => void;
  }): (request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

/** What the SDK makes of handlers. */
export interface SdkDefinition {
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

/** How a send that is to come later is made. */
export type SendLater = (to: Handler, input: unknown, afterMs: number) => void;

/** The SDK's context as turns see it. `later`: instead of the server's own timers. */
export function durableContext(sdk: RestateSdk, context: ExclusiveContext, later?: SendLater): DurableContext {
  return {
    // Asked for by work alone: the SDK makes much of it.
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
      // One after the other: the SDK allows no two of its promises to be awaited at once.
      for (const answer of begun) answers.push(await cancellable(answer));
      return answers;
    },
    send(to, input, afterMs) {
      if (later !== undefined && afterMs !== undefined) return later(to, input, afterMs);
      context.genericSend({
        ...genericCall(sdk, to, input),
        ...(afterMs === undefined || afterMs <= 0 ? {} : { delay: Math.ceil(afterMs) }),
      });
    },
    sleep: (ms) => cancellable(context.sleep(ms)),
  };
}

/** The SDK's context as those who only read see it. */
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
 * Of every handler. Journals hold arguments: none outlives its turn. What has to be tried again is tried until it is done: by the
 * server's own policy it would come to rest, and with it the actor, were its nodes away for some minutes.
 */
export const RETRY_FOREVER = {
  journalRetention: 0,
  retryPolicy: { initialInterval: 50, maxInterval: 5_000, exponentiationFactor: 2, maxAttempts: 1_000_000_000 },
};
