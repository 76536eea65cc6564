import { type DurableContext, type DurableReader, type Handler, Withdrawn } from "./durable-context.ts";
import type { ExclusiveContext, RestateSdk, SdkContext, SharedContext, TextSerde } from "./sdk.ts";

/** How a send that is to come later is made. */
export type SendLater = (to: Handler, input: unknown, afterMs: number) => void;

/** The SDK's context as turns see it. `later`: instead of the server's own timers. */
export function durable(sdk: RestateSdk, context: ExclusiveContext, later?: SendLater): DurableContext {
  return {
    // Asked for by work alone: the SDK makes much of it.
    invocation: () => context.request().id,
    superseded: () => context.request().attemptCompletedSignal,
    ...reading(context),
    set: (name, value) => context.set(name, value, text),
    clear: (name) => context.clear(name),
    run: (name, action) => heard(context.run(name, action)),
    call: calling(sdk, context),
    async callAll(calls) {
      const begun = calls.map(([to, input]) => context.genericCall({ ...called(sdk, to, input), outputSerde: sdk.serde.json }));
      const answers: unknown[] = [];
      // One after the other: the SDK allows no two of its promises to be awaited at once.
      for (const answer of begun) answers.push(await heard(answer));
      return answers;
    },
    send(to, input, afterMs) {
      if (later !== undefined && afterMs !== undefined) return later(to, input, afterMs);
      context.genericSend({
        ...called(sdk, to, input),
        ...(afterMs === undefined || afterMs <= 0 ? {} : { delay: Math.ceil(afterMs) }),
      });
    },
    sleep: (ms) => heard(context.sleep(ms)),
  };
}

/** The SDK's context as those who only read see it. */
export const reading = (context: SharedContext): DurableReader => ({
  async get(name) {
    const kept = await heard(context.get(name, text));
    return typeof kept === "string" ? kept : undefined;
  },
});

const text: TextSerde = {
  contentType: "text/plain",
  serialize: (value) => Buffer.from(value),
  deserialize: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"),
};

export const calling =
  (sdk: RestateSdk, context: SdkContext): DurableContext["call"] =>
  (to, input) =>
    heard(context.genericCall({ ...called(sdk, to, input), outputSerde: sdk.serde.json }));

const called = (sdk: RestateSdk, { object, key, handler }: Handler, parameter: unknown) => ({
  service: object,
  method: handler,
  ...(key === undefined ? {} : { key }),
  parameter,
  inputSerde: sdk.serde.json,
});

async function heard<T>(answer: PromiseLike<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && error.name === "CancelledError") throw new Withdrawn("The invocation was cancelled.");
    throw error;
  }
}
