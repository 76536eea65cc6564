import { faults } from "../../core/chain/internal.ts";
import { EngineError, type ActorId, type Behaviour, isJsonObject, type Viewer } from "../../core/contract/index.ts";
import { isTexts } from "../../core/contract/internal.ts";
import { put, replyTo } from "./archive.ts";
import { deliver, expire, ring } from "./delivery.ts";
import { DurableActor } from "./durable-actor.ts";
import { UNTIL_DONE } from "./handler-options.ts";
import { MOST_PATIENCE_MS } from "./ingress.ts";
import { isExpireInput, isRestartInput, isRingInput, isStopInput, isTurnInput, type TurnInput } from "./inputs.ts";
import { isObject } from "./is-object.ts";
import type { NodeHost } from "./node-host.ts";
import { faultOf, settled } from "./outcome.ts";
import * as asked from "./reading.ts";
import { calling, durable, reading, type SendLater } from "./sdk-context.ts";
import type { Defined, ExclusiveContext, RestateSdk, SharedContext } from "./sdk.ts";
import { isSealed } from "./sealed.ts";
import { eventsAfter } from "./slots.ts";
import { actorTransfer, archiveTransfer } from "./transfer-object.ts";

export interface ObjectOptions {
  readonly sdk: RestateSdk;
  readonly host: NodeHost;
  readonly later?: SendLater | undefined;
}

/** Longer than any work takes to be told that its time is over. */
const WORK_GRACE_MS = 30_000;
/** For as long a caller's node sends a call again whose answer it did not get. */
const RESEND_MS = 2 * MOST_PATIENCE_MS;
/**
 * A kind of actor as the SDK serves it. Its state travels with each of its turns, since one that had to be fetched would cost
 * every turn another round trip: it is one short key, what is older is in the archive.
 */
export function actorObject({ sdk, host, later }: ObjectOptions, behaviour: Behaviour): Defined {
  const { kind, policy } = behaviour;
  const actor = new DurableActor(behaviour, host);
  const { names } = host;
  const sealer = host.sealerFor(kind);
  const idOf = (key: string): ActorId => `${kind}/${key}`;
  const options = {
    ...UNTIL_DONE,
    idempotencyRetention: RESEND_MS,
    inactivityTimeout: policy.workMs + WORK_GRACE_MS,
    abortTimeout: WORK_GRACE_MS,
  };
  const { exclusive, shared } = sdk.handlers.object;
  /**
   * Runs a message to this very actor; what anybody else sends is answered, not tried again. `kept`: nobody waits who would
   * send it anew, so what was sealed with another secret stays until a node comes that has it.
   */
  const acting = (kept: boolean, act: (context: ExclusiveContext, input: TurnInput) => Promise<unknown>): unknown =>
    exclusive(options, async (context, value) => {
      let input: unknown;
      try {
        input = sealer.open(value);
      } catch (error) {
        if (kept) throw error;
        return { fault: faultOf(faults.fromStore(error)) };
      }
      return isTurnInput(input) && input.message.to === idOf(context.key) ? act(context, input) : { fault: faultOf(misdirected(kind)) };
    });
  const within = (context: ExclusiveContext) => durable(sdk, context, later);
  const asking = (ask: (context: SharedContext, input: unknown) => Promise<unknown>): unknown =>
    shared(UNTIL_DONE, (context, input) => settled(ask(context, input)));
  const plain = <T>(is: (input: unknown) => input is T, act: (context: ExclusiveContext, input: T) => Promise<unknown>): unknown =>
    exclusive(options, async (context, input) => (is(input) ? act(context, input) : { fault: faultOf(misdirected(kind)) }));
  return sdk.object({
    name: names.actors(kind),
    handlers: {
      turn: acting(false, (context, input) => actor.turn(within(context), input)),
      deliver: acting(true, (context, input) => deliver(actor, within(context), host, input)),
      ring: plain(isRingInput, (context, input) => ring(actor, within(context), host, input, idOf(context.key))),
      expire: plain(isExpireInput, (context, input) => expire(actor, within(context), host, input, idOf(context.key))),
      stop: plain(isStopInput, (context, input) => actor.stop(within(context), input)),
      restart: plain(isRestartInput, (context, input) => actor.restart(within(context), input, idOf(context.key))),
      read: asking((context) => asked.read(reading(context), actor.kind, idOf(context.key))),
      head: asking((context) => asked.head(reading(context), actor.kind, idOf(context.key))),
      events: asking((context, after) => asked.events(reading(context), idOf(context.key), seqOf(after))),
      reply: asking(async (context, key) => {
        const { reply, archived, pending } = await asked.reply(reading(context), String(key));
        if (reply !== undefined || pending || !archived) return { reply: reply ?? null, pending };
        const answer = await calling(sdk, context)(names.archive(idOf(context.key), "reply"), String(key));
        return { reply: isObject(answer) ? (answer["value"] ?? null) : null, pending };
      }),
      lives: shared(UNTIL_DONE, (context, messageId) => asked.lives(reading(context), String(messageId))),
      // For commands, which have no code of the kinds. Claims may be secret, and the server stores what it is sent.
      roles: asking(async (_context, input) => {
        const viewer = isSealed(input) ? viewerIn(sealer.open(input)) : undefined;
        if (viewer === undefined) throw misdirected(kind);
        return host.rolesOf(viewer);
      }),
      working: shared(UNTIL_DONE, (context, parent) => asked.working(reading(context), parent)),
      ...actorTransfer({ sdk, host, later }, actor.kind),
    },
  });
}

/** Where older events and replies of a kind's actors are. */
export function archiveObject({ sdk, host }: ObjectOptions, { kind }: Behaviour): Defined {
  const options = { ...UNTIL_DONE, enableLazyState: true };
  const idOf = (key: string): ActorId => `${kind}/${key}`;
  const { exclusive, shared } = sdk.handlers.object;
  return sdk.object({
    name: host.names.archives(kind),
    handlers: {
      put: exclusive(options, async (context, sealed) => {
        await put(durable(sdk, context), idOf(context.key), sealed);
        return { value: null };
      }),
      events: shared(options, (context, after) => settled(eventsAfter(reading(context), idOf(context.key), seqOf(after)))),
      // Exclusive, although it only reads: so it comes after what the actor has sent here before it asks.
      reply: exclusive(options, (context, key) => settled(replyTo(reading(context), String(key)))),
      ...archiveTransfer({ sdk, host }, kind),
    },
  });
}

/** Ends an invocation by its id: what only a handler may do without the server's admin API. */
export const controlService = ({ sdk, host }: ObjectOptions): Defined =>
  sdk.service({
    name: host.names.control,
    handlers: {
      cancel: sdk.handlers.handler(UNTIL_DONE, async (context, invocation) => {
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

const misdirected = (kind: string): EngineError =>
  new EngineError("BAD_ID", `This is no message to an actor of kind "${kind}": call it through the engine.`);
