import { type DurableContext, type Handler, Withdrawn } from "./durable-context.ts";
import type { ExclusiveContext, RestateSdk, SdkContext } from "./sdk.ts";

/** How a send that is to come later is made. */
export type SendLater = (to: Handler, input: unknown, afterMs: number) => void;

/** The SDK's context as turns see it. `later`: instead of the server's own timers. */
export function durable(sdk: RestateSdk, context: ExclusiveContext, later?: SendLater): DurableContext {
  const { id, attemptCompletedSignal } = context.request();
  return {
    invocation: id,
    superseded: attemptCompletedSignal,
    get: (name) => heard(context.get(name)),
    set: (name, value) => context.set(name, value),
    clear: (name) => context.clear(name),
    run: (name, action) => heard(context.run(name, action)),
    call: (to, input) => calling(sdk, context)(to, input),
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
