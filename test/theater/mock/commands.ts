import { randomBytes, randomUUID } from "node:crypto";
import type { Json } from "../../../src/core/contract/index.ts";
import type { MockActor, MockActors, MockEvent } from "./actors.ts";
import { CLOSE, SILENCE, type Fields, type MockAnswer, type MockCommand, type Say } from "./server.ts";

/** How the eras differ. */
export interface MockEra {
  /** The wire's `E`, or a sentence. */
  error(name: string | { readonly [name: string]: string }, sentence: string): Json;
  list(actors: Iterable<MockActor>): Json;
  /** `subscription` is not in what is said. */
  pushed(actor: MockActor, event: MockEvent): Json;
  /** Undefined: it does not parse. */
  start(fields: Fields): { readonly subscribe: boolean } | undefined;
  readonly rejected: Json;
  /** None: there is no such command. */
  readonly events?: "close" | "error";
  readonly manifests: boolean;
  readonly restart: "new-id" | "error";
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;
const isByte = (value: unknown): value is number => typeof value === "number" && value >= 0 && value <= 255;
const bytesIn = (value: unknown): readonly number[] | undefined => (Array.isArray(value) && value.every(isByte) ? value : undefined);

interface Line {
  readonly actor: MockActor;
  readonly say: Say;
}

export function mockCommands(actors: MockActors, era: MockEra): Record<string, MockCommand> {
  const channels = new Map<string, Line>();
  const byId =
    (run: (actor: MockActor | undefined, id: string, ...rest: Parameters<MockCommand>) => MockAnswer | Promise<MockAnswer>): MockCommand =>
    (fields, ...rest) =>
      typeof fields["id"] === "string" && UUID.test(fields["id"])
        ? run(actors.running.get(fields["id"]), fields["id"], fields, ...rest)
        : SILENCE;
  const follow = (actor: MockActor, say: Say, left: (undo: () => void) => void): void => {
    const follower = {
      event: (event: MockEvent) => say(era.pushed(actor, event)),
      failed: (event: MockEvent) => say({ ActorError: { id: actor.id, error: { Internal: event } } }),
    };
    actor.followers.add(follower);
    // Only when the connection ends: unsubscribing stops nothing.
    left(() => actor.followers.delete(follower));
  };
  const commands: Record<string, MockCommand> = {
    ListActors: () => ({ ActorList: { actors: era.list(actors.running.values()) } }),
    StartActor({ manifest, initial_state: state = null, ...fields }, say, left) {
      const shape = era.start(fields);
      const bytes = state === null ? null : bytesIn(state);
      if (typeof manifest !== "string" || bytes === undefined || shape === undefined) return SILENCE;
      const actor = actors.make(manifest, bytes);
      if (actor === undefined) return era.error({ RuntimeError: "no such manifest" }, "Failed to start actor: no such manifest");
      if (shape.subscribe) follow(actor, say, left);
      actor.begin();
      return { ActorStarted: { id: actor.id } };
    },
    StopActor: byId((_actor, id) => {
      actors.running.delete(id);
      return { ActorStopped: { id } };
    }),
    SubscribeToActor: byId((actor, id, _fields, say, left) => {
      if (actor !== undefined) follow(actor, say, left);
      return { Subscribed: { id, subscription_id: randomUUID() } };
    }),
    UnsubscribeFromActor: byId((_actor, id) => ({ Unsubscribed: { id } })),
    SendActorMessage: byId((actor, id, { data }) => {
      const bytes = bytesIn(data);
      if (bytes === undefined) return SILENCE;
      actor?.send(bytes);
      return { SentMessage: { id } };
    }),
    RequestActorMessage: byId(async (actor, id, { data }) => {
      const bytes = bytesIn(data);
      if (bytes === undefined) return SILENCE;
      const message = await actor?.request(bytes);
      return message === undefined ? CLOSE : { RequestedMessage: { id, message } };
    }),
    GetActorStatus: byId((actor, id) => ({ ActorStatus: { id, status: actor === undefined ? "Stopped" : "Running" } })),
    GetActorState: byId((actor, id) => (actor === undefined ? CLOSE : { ActorState: { id, state: actor.state } })),
    GetActorMetrics: byId((actor, id) => (actor === undefined ? CLOSE : { ActorMetrics: { id, metrics: metricsOf(actor) } })),
    RestartActor: byId((actor, id) => {
      if (era.restart === "error") {
        return era.error({ RuntimeError: "Actor restart not implemented" }, "Failed to restart actor: Actor restart not implemented");
      }
      if (actor === undefined) return era.error("ActorNotFound", "Failed to restart actor: Actor not found");
      actors.running.delete(id);
      actors.make(actor.manifest, null)?.begin();
      return { Restarted: { id } };
    }),
    OpenChannel({ actor_id: whom, initial_message: initial }, say, left) {
      const bytes = bytesIn(initial);
      if (bytes === undefined || typeof whom !== "object" || whom === null || !("Actor" in whom) || typeof whom.Actor !== "string") {
        return SILENCE;
      }
      const actor = actors.running.get(whom.Actor);
      if (actor === undefined) {
        const sentence = "Error opening channel: Target actor not found";
        return era.error({ RuntimeError: sentence }, sentence);
      }
      if (Buffer.from(bytes).toString() === "no") return era.rejected;
      const id = `ch_${randomBytes(8).toString("hex")}`;
      channels.set(id, { actor, say });
      left(() => channels.delete(id));
      return { ChannelOpened: { channel_id: id, actor_id: { Actor: actor.id } } };
    },
    SendOnChannel({ channel_id: id, message }) {
      const bytes = bytesIn(message);
      if (typeof id !== "string" || bytes === undefined) return SILENCE;
      const line = channels.get(id);
      if (line !== undefined && Buffer.from(bytes).toString() === "bye") {
        channels.delete(id);
        line.say({ ChannelClosed: { channel_id: id } });
      } else if (line !== undefined) {
        line.actor.hear(id, bytes);
        line.say({ ChannelMessage: { channel_id: id, sender_id: { Actor: line.actor.id }, message: bytes } });
      }
      return { MessageSent: { channel_id: id } };
    },
    CloseChannel({ channel_id: id }, say) {
      if (typeof id !== "string") return SILENCE;
      // Whoever closes takes part in it: it is told so besides.
      if (channels.delete(id)) say({ ChannelClosed: { channel_id: id } });
      return { ChannelClosed: { channel_id: id } };
    },
    NewStore: () => ({ StoreCreated: { store_id: randomUUID() } }),
  };
  if (era.manifests) {
    commands["GetActorManifest"] = byId((actor, id) =>
      actor === undefined ? CLOSE : { ActorManifest: { id, manifest: { name: actor.name, version: "0.1.0", component: "echo.wasm" } } },
    );
  }
  if (era.events !== undefined) {
    const missing = era.events === "close" ? CLOSE : era.error("ActorNotFound", "no such actor");
    commands["GetActorEvents"] = byId((actor, id) => (actor === undefined ? missing : { ActorEvents: { id, events: actor.chain } }));
  }
  return commands;
}

const metricsOf = (actor: MockActor): Json => ({
  operation_metrics: {
    total_operations: actor.operations,
    failed_operations: 0,
    total_processing_time: actor.operations * 1_500_000,
    max_processing_time: 1_500_000,
    min_processing_time: actor.operations === 0 ? null : 1_500_000,
  },
  resource_metrics: { memory_usage: 0, operation_queue_size: 0, peak_memory_usage: 0, peak_queue_size: 0 },
  last_update: null,
  uptime_secs: 1,
  start_time: Math.floor(actor.startedAt / 1_000),
});
