// Owns: handlers for export and import, as the SDK serves them. Does not own: what they do (imported-actor.ts, import-queue.ts).
import { faults, type Kind } from "../../core/chain/internal.ts";
import { EngineError, StoreError, type ActorId } from "../../core/contract/index.ts";
import { putInArchive } from "./archive.ts";
import { type DurableContext, InvocationCancelled, type NodeHost } from "./durable-context.ts";
import {
  RETRY_FOREVER,
  durableContext,
  durableReader,
  type SendLater,
  type SdkDefinition,
  type ExclusiveContext,
  type RestateSdk,
} from "./sdk.ts";
import { WRITE_RETENTION_MS } from "./map-object.ts";
import { faultOf, guarded, type Guarded } from "./outcome.ts";
import {
  beginImport,
  isCommitImportInput,
  abortImport,
  commitImport,
  readActorRecord,
  startTimers,
  addPendingCalls,
  archivedCalls,
  importedHead,
  setImportedHead,
  archivedReplies,
} from "./imported-actor.ts";
import { listQueue, resumeQueue, enqueue } from "./import-queue.ts";

export interface TransferObjectOptions {
  readonly sdk: RestateSdk;
  readonly host: NodeHost;
  readonly later?: SendLater | undefined;
}

type Handlers = Readonly<Record<string, unknown>>;

/** Handlers of an actor. */
export function actorTransferHandlers({ sdk, host, later }: TransferObjectOptions, kind: Kind): Handlers {
  const { exclusive, shared } = sdk.handlers.object;
  const exclusiveStep = (run: (context: DurableContext, id: ActorId, input: unknown) => Promise<unknown>): unknown =>
    exclusive(RETRY_FOREVER, (context, input) =>
      guardedImport(() => run(durableContext(sdk, context, later), `${kind.name}/${context.key}`, input)),
    );
  return {
    secret: shared(RETRY_FOREVER, async () => ({ value: host.sealerFor(kind.name).seal(null) !== null })),
    whole: shared(RETRY_FOREVER, (context) => guarded(() => readActorRecord(durableReader(context)))),
    arrive: exclusiveStep((context, id, head) => beginImport(context, host, kind, id, String(head))),
    leave: exclusiveStep((context, id, head) => abortImport(context, host, id, String(head))),
    settle: exclusiveStep((context, id, input) => {
      if (!isCommitImportInput(input)) throw new StoreError("STORE_CORRUPT", "This is no actor that could come: import what was exported.");
      return commitImport(context, host, id, input);
    }),
    wind: exclusiveStep((context, id) => startTimers(context, host, id)),
  };
}

/** Handlers of its archive. */
export function archiveTransferHandlers({ sdk }: TransferObjectOptions, kind: string): Handlers {
  const options = { ...RETRY_FOREVER, enableLazyState: true };
  const { exclusive, shared } = sdk.handlers.object;
  const writing = (run: (context: ExclusiveContext, input: unknown) => Promise<unknown>): unknown =>
    exclusive(options, (context, input) => guardedImport(() => run(context, input)));
  return {
    clear: writing(async (context) => context.clearAll()),
    take: writing((context, sealed) => putInArchive(durableContext(sdk, context), `${kind}/${context.key}`, sealed)),
    due: writing((context, claims) => addPendingCalls(durableContext(sdk, context), claims)),
    arrive: writing(async (context, head) => setImportedHead(durableContext(sdk, context), head)),
    arrived: shared(options, (context) => guarded(() => importedHead(durableReader(context)))),
    calls: shared(options, (context, from) => guarded(() => archivedCalls(durableReader(context), from))),
    replies: shared(options, (context, keys) => guarded(() => archivedReplies(durableReader(context), keys))),
  };
}

/** The virtual object of the import queue; there is one. */
export function importQueueObject({ sdk, host, later }: TransferObjectOptions): SdkDefinition {
  const options = { ...RETRY_FOREVER, enableLazyState: true };
  const { exclusive, shared } = sdk.handlers.object;
  return sdk.object({
    name: host.names.importQueue,
    handlers: {
      take: exclusive({ ...options, idempotencyRetention: WRITE_RETENTION_MS }, (context, entry) =>
        guardedImport(() => enqueue(durableContext(sdk, context, later), host, entry)),
      ),
      list: shared(options, (context, from) => guarded(() => listQueue(durableReader(context), from))),
      resume: exclusive(options, (context) => guardedImport(() => resumeQueue(durableContext(sdk, context, later), host))),
    },
  });
}

/** Nothing was set before the pending step, so a cancellation is returned as a fault: a retry would never end. */
async function guardedImport(step: () => unknown): Promise<Guarded<unknown>> {
  try {
    return await guarded(step);
  } catch (error) {
    if (error instanceof InvocationCancelled)
      return { fault: faultOf(new EngineError("CANCELLED", "An operator cancelled this step of an import: import again.")) };
    if (error instanceof RangeError)
      return { fault: faultOf(faults.fromStore(new StoreError("STORE_CORRUPT", "This is nested too deeply.", { cause: error }))) };
    throw error;
  }
}
