// Owns: the virtual objects of a kind (actor and archive), the import queue and the control service, as the SDK serves them. Does not
// own: what handlers do (durable-actor.ts, delivery.ts, actor-reads.ts, archive.ts, imported-actor.ts, import-queue.ts).
import { faults } from "../../core/chain/internal.ts";
import { EngineError, StoreError, type ActorId, type Behaviour, isJsonObject, type Viewer } from "../../core/contract/index.ts";
import { isTexts } from "../../core/contract/internal.ts";
import * as reads from "./actor-reads.ts";
import { archivedEvents, archivedReply, putInArchive } from "./archive.ts";
import { deliver, expire, fireTimer } from "./delivery.ts";
import { DurableActor } from "./durable-actor.ts";
import {
  LONGEST_MS,
  RETRY_FOREVER,
  callFrom,
  durableContext,
  durableReader,
  type SendLater,
  type SdkDefinition,
  type ExclusiveContext,
  type RestateSdk,
  type SharedContext,
} from "./sdk.ts";
import { MAX_PATIENCE_MS } from "./ingress.ts";
import { isExpireInput, isRestartInput, isTimerInput, isStopInput, isTurnInput, type TurnInput, isObject } from "./handler-inputs.ts";
import { type DurableContext, type DurableReader, InvocationCancelled, type NodeHost } from "./durable-context.ts";
import * as imports from "./imported-actor.ts";
import { enqueue, listQueue, resumeQueue } from "./import-queue.ts";
import { WRITE_RETENTION_MS } from "./map-object.ts";
import { faultOf, guarded, type Guarded, valueIn } from "./outcome.ts";
import { isSealed } from "./sealer.ts";

export interface ObjectOptions {
  readonly sdk: RestateSdk;
  readonly host: NodeHost;
  readonly later?: SendLater | undefined;
}

/** Longer than any work needs to notice that its time is over. */
const WORK_GRACE_MS = 30_000;
/** For this long, a caller's node repeats a call without an answer. */
const RESEND_MS = 2 * MAX_PATIENCE_MS;
/**
 * The virtual object of a kind of actor. All of its state travels with each turn, since fetching it would cost every turn a round trip. So
 * the actor's own key is short, and older events are in the archive.
 */
export function actorObject({ sdk, host, later }: ObjectOptions, behaviour: Behaviour): SdkDefinition {
  const { kind, policy } = behaviour;
  const actor = new DurableActor(behaviour, host);
  const { names } = host;
  const sealer = host.sealerFor(kind);
  const idOf = (key: string): ActorId => `${kind}/${key}`;
  const options = {
    ...RETRY_FOREVER,
    idempotencyRetention: RESEND_MS,
    inactivityTimeout: Math.min(policy.workMs + WORK_GRACE_MS, LONGEST_MS),
    abortTimeout: WORK_GRACE_MS,
  };
  const { exclusive, shared } = sdk.handlers.object;
  /**
   * Handles a message to this actor. Any other input gets a fault as its reply, so that the server does not retry it. `isRetried`: no
   * caller would repeat the message, so one that was sealed with another secret waits for a node that has it.
   */
  const onMessage = (isRetried: boolean, act: (context: ExclusiveContext, input: TurnInput) => Promise<unknown>): unknown =>
    exclusive(options, async (context, value) => {
      let input: unknown;
      try {
        input = sealer.open(value);
      } catch (error) {
        if (isRetried) throw error;
        return { fault: faultOf(faults.fromStore(error)) };
      }
      return isTurnInput(input) && input.message.to === idOf(context.key) ? act(context, input) : { fault: faultOf(notForActor(kind)) };
    });
  const durableOf = (context: ExclusiveContext) => durableContext(sdk, context, later);
  const onRead = (ask: (context: SharedContext, input: unknown) => Promise<unknown>): unknown =>
    shared(RETRY_FOREVER, (context, input) => guarded(() => ask(context, input)));
  /** A step of an import. */
  const onImport = (run: (context: DurableContext, id: ActorId, input: unknown) => Promise<unknown>): unknown =>
    exclusive(RETRY_FOREVER, (context, input) => guardedImport(() => run(durableOf(context), idOf(context.key), input)));
  const onInput = <T>(is: (input: unknown) => input is T, act: (context: ExclusiveContext, input: T) => Promise<unknown>): unknown =>
    exclusive(options, async (context, input) => (is(input) ? act(context, input) : { fault: faultOf(notForActor(kind)) }));
  return sdk.object({
    name: names.actors(kind),
    handlers: {
      turn: onMessage(false, (context, input) => actor.turn(durableOf(context), input)),
      deliver: onMessage(true, (context, input) => deliver(actor, durableOf(context), host, input)),
      ring: onInput(isTimerInput, (context, input) => fireTimer(actor, durableOf(context), host, input, idOf(context.key))),
      expire: onInput(isExpireInput, (context, input) => expire(actor, durableOf(context), host, input, idOf(context.key))),
      stop: onInput(isStopInput, (context, input) => actor.stop(durableOf(context), input)),
      restart: onInput(isRestartInput, (context, input) => actor.restart(durableOf(context), input, idOf(context.key))),
      read: onRead((context) => reads.readSnapshot(durableReader(context), actor.kind, idOf(context.key))),
      head: onRead((context) => reads.readHead(durableReader(context), actor.kind, idOf(context.key))),
      events: onRead((context, after) => reads.readEvents(durableReader(context), idOf(context.key), seqOf(after))),
      reply: onRead(async (context, key) => {
        const { reply, archived, pending } = await reads.readReply(durableReader(context), String(key));
        if (reply !== undefined || pending || !archived) return { reply: reply ?? null, pending };
        const answer = await callFrom(sdk, context)(names.archive(idOf(context.key), "reply"), String(key));
        return { reply: valueIn(answer) ?? null, pending };
      }),
      lives: shared(RETRY_FOREVER, (context, messageId) => reads.isInLife(durableReader(context), String(messageId))),
      // For commands, which do not have the code of the kinds. Claims may be secret, and the server stores its inputs.
      roles: onRead(async (_context, input) => {
        const viewer = isSealed(input) ? viewerIn(sealer.open(input)) : undefined;
        if (viewer === undefined) throw notForActor(kind);
        return host.rolesOf(viewer);
      }),
      working: shared(RETRY_FOREVER, (context, parent) => reads.readWork(durableReader(context), parent)),
      secret: shared(RETRY_FOREVER, async () => ({ value: sealer.seal(null) !== null })),
      whole: onRead((context) => imports.readActorRecord(durableReader(context))),
      arrive: onImport((context, id, head) => imports.beginImport(context, host, actor.kind, id, String(head))),
      leave: onImport((context, id, head) => imports.abortImport(context, host, id, String(head))),
      settle: onImport((context, id, input) => {
        if (!imports.isCommitImportInput(input))
          throw new StoreError("STORE_CORRUPT", "This is no actor that could come: import what was exported.");
        return imports.commitImport(context, host, id, input);
      }),
      wind: onImport((context, id) => imports.startTimers(context, host, id)),
    },
  });
}

/** The virtual object that stores older events and replies of a kind's actors. */
export function archiveObject({ sdk, host }: ObjectOptions, { kind }: Behaviour): SdkDefinition {
  const options = { ...RETRY_FOREVER, enableLazyState: true };
  const idOf = (key: string): ActorId => `${kind}/${key}`;
  const { exclusive, shared } = sdk.handlers.object;
  const onImport = (run: (context: ExclusiveContext, input: unknown) => unknown): unknown =>
    exclusive(options, (context, input) => guardedImport(() => run(context, input)));
  const onRead = (ask: (context: DurableReader, input: unknown) => Promise<unknown>): unknown =>
    shared(options, (context, input) => guarded(() => ask(durableReader(context), input)));
  return sdk.object({
    name: host.names.archives(kind),
    handlers: {
      put: exclusive(options, async (context, sealed) => {
        await putInArchive(durableContext(sdk, context), idOf(context.key), sealed);
        return { value: null };
      }),
      events: shared(options, (context, after) => guarded(() => archivedEvents(durableReader(context), idOf(context.key), seqOf(after)))),
      // Exclusive although it only reads: it then runs after everything that the actor has sent here before.
      reply: exclusive(options, (context, key) => guarded(() => archivedReply(durableReader(context), String(key)))),
      clear: onImport((context) => context.clearAll()),
      take: onImport((context, sealed) => putInArchive(durableContext(sdk, context), idOf(context.key), sealed)),
      due: onImport((context, claims) => imports.addPendingCalls(durableContext(sdk, context), claims)),
      arrive: onImport((context, head) => imports.setImportedHead(durableContext(sdk, context), head)),
      arrived: onRead(imports.importedHead),
      calls: onRead(imports.archivedCalls),
      replies: onRead(imports.archivedReplies),
    },
  });
}

/** The virtual object of the import queue; there is one. */
export function importQueueObject({ sdk, host, later }: ObjectOptions): SdkDefinition {
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

/** Cancels an invocation by its id. Without the admin API only a handler can do that. */
export const controlService = ({ sdk, host }: ObjectOptions): SdkDefinition =>
  sdk.service({
    name: host.names.control,
    handlers: {
      cancel: sdk.handlers.handler(RETRY_FOREVER, async (context, invocation) => {
        if (typeof invocation === "string" && /^inv_[A-Za-z0-9]+$/.test(invocation)) context.cancel(invocation);
        return null;
      }),
    },
  });

const seqOf = (value: unknown): number => (typeof value === "number" && value > 0 ? Math.floor(value) : 0);

function viewerIn(value: unknown): Viewer | undefined {
  if (!isObject(value)) return undefined;
  const { principal, scopes, claims } = value;
  if (!isTexts(scopes) || !isJsonObject(claims)) return undefined;
  return { scopes, claims, ...(typeof principal === "string" ? { principal } : {}) };
}

const notForActor = (kind: string): EngineError =>
  new EngineError("BAD_ID", `This is no message to an actor of kind "${kind}": call it through the engine.`);
