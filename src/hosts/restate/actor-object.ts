import { faults } from "../../core/chain/internal.ts";
import { EngineError, type ActorId, type Behaviour, isJsonObject, type Viewer } from "../../core/contract/index.ts";
import { isTexts } from "../../core/contract/internal.ts";
import * as reads from "./actor-reads.ts";
import { putInArchive, archivedReply, archivedEvents } from "./archive.ts";
import { deliver, expire, fireTimer } from "./delivery.ts";
import { DurableActor } from "./durable-actor.ts";
import {
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
import type { NodeHost } from "./durable-context.ts";
import { faultOf, guarded } from "./outcome.ts";
import { isSealed } from "./sealer.ts";
import { actorTransferHandlers, archiveTransferHandlers } from "./import-handlers.ts";

export interface ObjectOptions {
  readonly sdk: RestateSdk;
  readonly host: NodeHost;
  readonly later?: SendLater | undefined;
}

/** Longer than any work takes to be told that its time is over. */
const WORK_GRACE_MS = 30_000;
/** For as long a caller's node sends a call again whose answer it did not get. */
const RESEND_MS = 2 * MAX_PATIENCE_MS;
/**
 * A kind of actor as the SDK serves it. Its state travels with each of its turns, since one that had to be fetched would cost
 * every turn another round trip: it is one short key, what is older is in the archive.
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
    inactivityTimeout: policy.workMs + WORK_GRACE_MS,
    abortTimeout: WORK_GRACE_MS,
  };
  const { exclusive, shared } = sdk.handlers.object;
  /**
   * Runs a message to this very actor; what anybody else sends is answered, not tried again. `kept`: nobody waits who would
   * send it anew, so what was sealed with another secret stays until a node comes that has it.
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
    shared(RETRY_FOREVER, (context, input) => guarded(ask(context, input)));
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
        return { reply: isObject(answer) ? (answer["value"] ?? null) : null, pending };
      }),
      lives: shared(RETRY_FOREVER, (context, messageId) => reads.isInLife(durableReader(context), String(messageId))),
      // For commands, which have no code of the kinds. Claims may be secret, and the server stores what it is sent.
      roles: onRead(async (_context, input) => {
        const viewer = isSealed(input) ? viewerIn(sealer.open(input)) : undefined;
        if (viewer === undefined) throw notForActor(kind);
        return host.rolesOf(viewer);
      }),
      working: shared(RETRY_FOREVER, (context, parent) => reads.readWork(durableReader(context), parent)),
      ...actorTransferHandlers({ sdk, host, later }, actor.kind),
    },
  });
}

/** Where older events and replies of a kind's actors are. */
export function archiveObject({ sdk, host }: ObjectOptions, { kind }: Behaviour): SdkDefinition {
  const options = { ...RETRY_FOREVER, enableLazyState: true };
  const idOf = (key: string): ActorId => `${kind}/${key}`;
  const { exclusive, shared } = sdk.handlers.object;
  return sdk.object({
    name: host.names.archives(kind),
    handlers: {
      put: exclusive(options, async (context, sealed) => {
        await putInArchive(durableContext(sdk, context), idOf(context.key), sealed);
        return { value: null };
      }),
      events: shared(options, (context, after) => guarded(archivedEvents(durableReader(context), idOf(context.key), seqOf(after)))),
      // Exclusive, although it only reads: so it comes after what the actor has sent here before it asks.
      reply: exclusive(options, (context, key) => guarded(archivedReply(durableReader(context), String(key)))),
      ...archiveTransferHandlers({ sdk, host }, kind),
    },
  });
}

/** Ends an invocation by its id: what only a handler may do without the server's admin API. */
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
