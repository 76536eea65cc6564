// Owns: actors that a packet test starts and sends messages to. Does not own: the flow they run in (packet-test.ts).
import {
  type ActorCapability,
  type ActorOptions,
  type Capability,
  capabilityOf,
  PACKET_VERSION,
  type PacketContext,
  PacketError,
  type PacketFlow,
  readPacket,
  RefusedPacket,
  type RequestPacket,
} from "../../bridges/packet/index.ts";
import {
  checkOptions,
  type Behaviour,
  type Engine,
  type Json,
  type JsonObject,
  type Snapshot,
  type Viewer,
} from "../../core/contract/index.ts";

/** A kind of actor as `actor()` makes it. */
export type ActorKind<S = unknown> = Behaviour<S> & { readonly description: string };

/** An actor that a test has started. */
export interface TestActor<S = unknown> {
  readonly capability_id: string;
  readonly actor_id: string;
  /** The actor's user. */
  readonly user: string;
  readonly options: Omit<ActorOptions, "create_if_missing">;
  /** A copy of its last durable state. Rejects with `PacketError` (`actor_not_found` after it has ended). */
  state(): Promise<S>;
}

/** How a test starts an actor. */
export interface StartOptions {
  /** Default: `test-1`, `test-2`, … in the order they are started. */
  readonly actor_id?: string;
  /** Default: the test's user. */
  readonly user?: string;
  readonly options?: Omit<ActorOptions, "create_if_missing">;
}

/** Starts an actor. Its state is typed if a capability or kind is given, and `unknown` for an id. */
export interface StartTestActor {
  <S>(capability: ActorCapability<S>, options?: StartOptions): Promise<TestActor<S>>;
  <S>(kind: ActorKind<S>, options?: StartOptions): Promise<TestActor<S>>;
  (capability: string | Capability, options?: StartOptions): Promise<TestActor>;
}

export const asCapability = (given: Capability | ActorKind): Capability => ("does" in given ? given : capabilityOf(given));

const idOf = (which: string | Capability | ActorKind): string => (typeof which === "string" ? which : asCapability(which).id);

/** Starts actors for users, and sends them packets as a transport would. */
export function testActors(flow: PacketFlow, engine: Engine, defaultUser: string) {
  let started = 0;

  function startTestActor<S>(capability: ActorCapability<S>, options?: StartOptions): Promise<TestActor<S>>;
  function startTestActor<S>(kind: ActorKind<S>, options?: StartOptions): Promise<TestActor<S>>;
  function startTestActor(capability: string | Capability, options?: StartOptions): Promise<TestActor>;
  async function startTestActor(which: string | Capability | ActorKind, given: StartOptions = {}): Promise<TestActor> {
    checkOptions("startTestActor", given, { actor_id: true, user: true, options: true });
    const capability_id = idOf(which);
    const { actor_id = `test-${(started += 1)}`, user = defaultUser, options = {} } = given;
    const actor = { capability_id, actor_id, user, options };
    const viewer = viewerOf(user);
    const packet = read(actor, {}, {});
    const { id } = await flow.actors.getOrCreateActor(capability_id, actor_id, { viewer, ...optionsOf(packet) });
    const does = flow.capabilities.get(capability_id)?.does;
    // Only declared capabilities publish states, but a test may read any.
    const state = async (): Promise<Json> =>
      does?.how === "actor" && does.own !== undefined
        ? stateOf(await engine.read(id), actor_id)
        : (await flow.actors.getActorState(capability_id, actor_id, viewer)).state;
    return { ...actor, state };
  }

  async function sendActorMessage(actor: TestActor, payload: JsonObject, context: PacketContext = {}): Promise<Json> {
    const packet = read(actor, payload, context);
    const user = packet.context.user_id ?? actor.user;
    const { result } = await flow.running.run(actor.capability_id, packet.payload, {
      viewer: viewerOf(user),
      context: { ...packet.context, user_id: user },
      actor_id: actor.actor_id,
      actorOnly: true,
      ...(packet.actor_options && { actor_options: packet.actor_options }),
    });
    return result;
  }

  return { startTestActor, sendActorMessage };
}

function stateOf(snapshot: Snapshot | undefined, actor_id: string): Json {
  if (snapshot === undefined || snapshot.status === "stopped") throw new PacketError("actor_not_found", `The actor ${actor_id} has ended.`);
  const state: Json = JSON.parse(JSON.stringify(snapshot.state));
  return state;
}

const viewerOf = (principal: string): Viewer => ({ principal, scopes: [] });

const optionsOf = ({ actor_options }: RequestPacket) => (actor_options === undefined ? {} : { options: actor_options });

// Serialized and parsed, so that invalid packets are refused as by a transport, and a test shares no objects with an actor.
function read({ capability_id, actor_id, options }: Omit<TestActor, "state">, payload: JsonObject, context: PacketContext): RequestPacket {
  const packet = readPacket(
    JSON.stringify({
      version: PACKET_VERSION,
      type: "actor_message",
      capability_id,
      actor_id,
      payload,
      context,
      actor_options: options,
    }),
  );
  if (packet instanceof RefusedPacket) throw packet;
  return packet;
}
