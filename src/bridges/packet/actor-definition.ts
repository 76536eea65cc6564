import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { RunContext, Value, WorkContext } from "../../core/actor/index.ts";
import type { JsonObject, Frozen, Json, Policy } from "../../core/contract/index.ts";
import type { ForeignServer } from "./capability.ts";
import type { Described } from "./define-capability.ts";
import type { PayloadOf } from "./match.ts";
import type { PacketContext, Persistence } from "./packet.ts";
import type { ActorTimes, Timeout } from "./timeout.ts";

/** What a message handler of an actor is given: a turn (`RunContext`), the payload and who sent it. */
export interface ActorRun<S, P> extends Omit<RunContext<S, P>, "args" | "request"> {
  readonly payload: P;
  readonly context: PacketContext;
  /** Before this message. */
  readonly metadata: ActorTimes;
}

/** What one that waits is given beside. */
export interface ActorWork<S, P> extends ActorRun<S, P>, Pick<WorkContext<S, P>, "signal" | "progress" | "log" | "call"> {
  /** A tool server by its name in the configuration; what is called there is recorded in the actor's chain. */
  readonly mcp: (server: string) => ForeignServer;
  /** Another capability, as a packet of the actor's own user would; what it was asked is recorded in the actor's chain. Throws `PacketError`. */
  readonly request: (capabilityId: string, payload: JsonObject, options?: { readonly actor_id?: string }) => Promise<Json>;
}

/** What a read has at hand: the last durable state, read-only, and the payload. */
export interface ActorView<S, P> {
  readonly state: Frozen<S>;
  readonly payload: P;
  readonly context: PacketContext;
  readonly metadata: ActorTimes;
}

/** What an actor begins with. */
export interface FirstTimes {
  readonly actor_id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly random: () => number;
  readonly id: () => string;
}

type Handles<S, P> =
  | { run(context: ActorRun<S, P>): Value; work?: never; view?: never }
  | { work(context: ActorWork<S, P>): Promise<Value>; run?: never; view?: never }
  | { view(context: ActorView<S, P>): Value; run?: never; work?: never };

export interface ActorCapabilityDefinition<S extends object, M> extends Described {
  /** JSON, copied for each actor that begins; or made from what it begins with. */
  readonly initialState: S | ((first: FirstTimes) => S);
  /** What a state must be like, checked where one begins. */
  readonly state?: StandardSchemaV1<unknown, S>;
  /** Default `memory`. */
  readonly persistence?: Persistence;
  /** Default: as the configuration says, 30 minutes idle. */
  readonly timeout?: Timeout;
  /** Everybody's. Default: an actor is there for its starter alone. */
  readonly shared?: boolean;
  /** Of the state, from 1. Default 1. */
  readonly version?: number;
  /** A state of a lower version. Pure. */
  readonly migrate?: (old: { readonly state: Json; readonly from: number }) => S;
  /** The first pattern, in the order they stand here, that a payload matches. A message without `match` takes any. */
  readonly messages: { readonly [N in keyof M]: { readonly match?: M[N] & object } & Handles<S, PayloadOf<M[N]>> };
  /** While the actor lives, every so often. */
  readonly periodic?: Readonly<Record<string, { readonly everyMs: number; run(context: Omit<ActorRun<S, null>, "payload">): void }>>;
  /** Fields of payloads and results whose text is searchable (`message`, `notes.*.text`). */
  readonly search?: readonly string[];
  readonly policy?: Partial<Pick<Policy, "workMs" | "mailbox" | "maxStateBytes" | "restart">>;
}
