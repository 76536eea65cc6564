/** The handlers by which actors come from another place and leave for one, as the SDK serves them. */
import { faults, type Kind } from "../../core/chain/internal.ts";
import { EngineError, StoreError, type ActorId } from "../../core/contract/index.ts";
import { put } from "./archive.ts";
import { type DurableContext, Withdrawn } from "./durable-context.ts";
import { UNTIL_DONE } from "./handler-options.ts";
import { WRITE_KEY_MS } from "./map-object.ts";
import type { NodeHost } from "./node-host.ts";
import { faultOf, settled, type Guarded } from "./outcome.ts";
import { durable, reading, type SendLater } from "./sdk-context.ts";
import type { Defined, ExclusiveContext, RestateSdk } from "./sdk.ts";
import { arrive, isSettleInput, leave, settle, whole, wind } from "./transfer-actor.ts";
import { addDue, archivedCalls, arrivedWith, arriveWith, repliesTo } from "./transfer-archive.ts";
import { list, resume, take } from "./transfer-waiting.ts";

export interface TransferObjectOptions {
  readonly sdk: RestateSdk;
  readonly host: NodeHost;
  readonly later?: SendLater | undefined;
}

type Handlers = Readonly<Record<string, unknown>>;

/** Of an actor. */
export function actorTransfer({ sdk, host, later }: TransferObjectOptions, kind: Kind): Handlers {
  const { exclusive, shared } = sdk.handlers.object;
  const taking = (run: (context: DurableContext, id: ActorId, input: unknown) => Promise<unknown>): unknown =>
    exclusive(UNTIL_DONE, (context, input) => undisturbed(run(durable(sdk, context, later), `${kind.name}/${context.key}`, input)));
  return {
    secret: shared(UNTIL_DONE, async () => ({ value: host.sealerFor(kind.name).seal(null) !== null })),
    whole: shared(UNTIL_DONE, (context) => settled(whole(reading(context)))),
    arrive: taking((context, id, head) => arrive(context, host, kind, id, String(head))),
    leave: taking((context, id, head) => leave(context, host, id, String(head))),
    settle: taking((context, id, input) => {
      if (!isSettleInput(input)) throw new StoreError("STORE_CORRUPT", "This is no actor that could come: import what was exported.");
      return settle(context, host, id, input);
    }),
    wind: taking((context, id) => wind(context, host, id)),
  };
}

/** Of its archive. */
export function archiveTransfer({ sdk }: TransferObjectOptions, kind: string): Handlers {
  const options = { ...UNTIL_DONE, enableLazyState: true };
  const { exclusive, shared } = sdk.handlers.object;
  const writing = (run: (context: ExclusiveContext, input: unknown) => Promise<unknown>): unknown =>
    exclusive(options, (context, input) => undisturbed(run(context, input)));
  return {
    clear: writing(async (context) => context.clearAll()),
    take: writing((context, sealed) => put(durable(sdk, context), `${kind}/${context.key}`, sealed)),
    due: writing((context, claims) => addDue(durable(sdk, context), claims)),
    arrive: writing(async (context, head) => arriveWith(durable(sdk, context), head)),
    arrived: shared(options, (context) => settled(arrivedWith(reading(context)))),
    calls: shared(options, (context, from) => settled(archivedCalls(reading(context), from))),
    replies: shared(options, (context, keys) => settled(repliesTo(reading(context), keys))),
  };
}

/** One for all: what has to be set going once everything is there. */
export function waitingObject({ sdk, host, later }: TransferObjectOptions): Defined {
  const options = { ...UNTIL_DONE, enableLazyState: true };
  const { exclusive, shared } = sdk.handlers.object;
  return sdk.object({
    name: host.names.waiting,
    handlers: {
      take: exclusive({ ...options, idempotencyRetention: WRITE_KEY_MS }, (context, entry) =>
        undisturbed(take(durable(sdk, context, later), host, entry)),
      ),
      list: shared(options, (context, from) => settled(list(reading(context), from))),
      resume: exclusive(options, (context) => undisturbed(resume(durable(sdk, context, later), host))),
    },
  });
}

/** Nothing was set before what waits here: whoever cancels it is told so, where trying again would never end. */
async function undisturbed(taking: Promise<unknown>): Promise<Guarded<unknown>> {
  try {
    return await settled(taking);
  } catch (error) {
    if (error instanceof Withdrawn)
      return { fault: faultOf(new EngineError("CANCELLED", "An operator cancelled this step of an import: import again.")) };
    if (error instanceof RangeError)
      return { fault: faultOf(faults.fromStore(new StoreError("STORE_CORRUPT", "This is nested too deeply.", { cause: error }))) };
    throw error;
  }
}
