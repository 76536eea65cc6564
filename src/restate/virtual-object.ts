import { EngineError, type ActorId, type Behaviour } from "../contract/index.ts";
import { DurableActor } from "./durable-actor.ts";
import type { WorkHost } from "./durable-work.ts";
import type { DurableContext } from "./durable-context.ts";
import { faultOf, isTurnInput, settled, type Outcome, type TurnInput } from "./outcome.ts";
import type { ExclusiveContext, RestateSdk } from "./sdk.ts";

/** The virtual object a kind of actor is; its keys are the actors' keys as their ids write them. */
export const objectName = (kind: string): string => `actor-${kind}`;

/** The two halves of an id. */
export function partsOf(id: ActorId): { readonly kind: string; readonly key: string } {
  const at = id.indexOf("/");
  return { kind: id.slice(0, at), key: id.slice(at + 1) };
}

export interface ObjectOptions {
  /** How long a keyed call gets its first reply again (C4). */
  readonly keyMs: number;
}

/** Longer than any work takes to be told that its time is over. */
const WORK_GRACE_MS = 30_000;

/** A kind of actor as the SDK serves it: `turn` exclusive, `read` and `events` shared. */
export function virtualObject(sdk: RestateSdk, behaviour: Behaviour, host: WorkHost, { keyMs }: ObjectOptions): unknown {
  const { kind, policy } = behaviour;
  const actor = new DurableActor(behaviour, host);
  const idOf = (key: string): ActorId => `${kind}/${key}`;
  // Journals hold arguments: none outlives its turn.
  const options = { enableLazyState: true, journalRetention: 0 };
  const whileWork = { idempotencyRetention: keyMs, inactivityTimeout: policy.workMs + WORK_GRACE_MS };
  const { object } = sdk.handlers;
  return sdk.object({
    name: objectName(kind),
    handlers: {
      turn: object.exclusive({ ...options, ...whileWork }, async (context, input): Promise<Outcome> => {
        if (isTurnInput(input) && input.message.to === idOf(context.key)) return actor.turn(durable(sdk, context), input.message);
        return { of: "", fault: faultOf(misdirected(kind)) };
      }),
      read: object.shared(options, (context) => settled(actor.read(context, idOf(context.key)))),
      events: object.shared(options, (context, input) =>
        settled(actor.events(context, typeof input === "number" && input > 0 ? Math.floor(input) : 0)),
      ),
    },
  });
}

function durable(sdk: RestateSdk, context: ExclusiveContext): DurableContext {
  return {
    get: (name) => context.get(name),
    set: (name, value) => context.set(name, value),
    run: (name, action) => context.run(name, action),
    now: () => context.date.now(),
    send(message) {
      const { kind, key } = partsOf(message.to);
      const input: TurnInput = { message };
      context.genericSend({ service: objectName(kind), method: "turn", key, parameter: input, inputSerde: sdk.serde.json });
    },
  };
}

const misdirected = (kind: string): EngineError =>
  new EngineError("BAD_ID", `This is no message to an actor of kind "${kind}": call it through the engine.`);
