// Owns: the life of handles. Does not own: their form and who may use one (actor-access.ts), the argument of that name (plan.ts).

import {
  type ActorId,
  type Behaviour,
  type Clock,
  type Engine,
  type Entropy,
  isJsonObject,
  type Json,
  type Offer,
  type Policy,
  type Rate,
  type Reply,
  TokenBuckets,
  type Viewer,
} from "../../core/contract/index.ts";
import { counted, hasOwn, isLocal, Lru, peerOf } from "../../core/contract/internal.ts";
import { secretBytes } from "../../core/platform/index.ts";
import { handleActor, isHandle, isPassing, mintedAt, mintHandle, type Refused, refused } from "./actor-access.ts";

export interface HandlesOptions {
  readonly engine: Pick<Engine, "call" | "read" | "stop">;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly expireMs: number;
  readonly secret: Uint8Array | undefined;
}

/** The actor that a handle stands for, and the arguments without the handle. */
export interface Found {
  readonly id: ActorId;
  readonly args: Json;
}

/** For a principal, or a remote peer without one. */
const STARTS: Rate = { perSecond: 5, burst: 1_000 };
/** For all callers without a principal on this machine together, since they cannot be distinguished. */
const LOCAL: Rate = { perSecond: 50, burst: 10_000 };

/** Mints handles, and finds and ends what they stand for. */
export class Handles {
  readonly #options: HandlesOptions;
  readonly #secret: Uint8Array;
  readonly #starts: TokenBuckets;
  // No engine remembers the end of an actor that never began, or was in memory only.
  readonly #ended = new Lru<string, true>(10_000);

  constructor(options: HandlesOptions) {
    this.#options = options;
    this.#starts = new TokenBuckets(options.clock);
    this.#secret = options.secret ?? secretBytes(32);
  }

  /** A handle starts at most one actor, so this bounds how many. Code `START_LIMIT`. */
  start(behaviour: Behaviour, viewer: Viewer, peer: string | undefined): Reply {
    const { clock, entropy, expireMs } = this.#options;
    const { kind, policy } = behaviour;
    const tooMany = this.count(behaviour, viewer, peer);
    if (tooMany !== undefined) return tooMany;
    const handle = mintHandle(this.#secret, kind, viewer.principal, clock.now(), entropy.hex(16));
    return { ok: { handle, kept: `until ${describeDuration(policy.expireMs ?? expireMs)} have passed without a call` } };
  }

  /**
   * Counts an actor that this caller starts. Returns the refusal `START_LIMIT` where it has started too many. Sessions count for their
   * peer, which may open any number of them.
   */
  count({ kind }: Behaviour, viewer: Viewer, peer: string | undefined): Refused | undefined {
    const anonymous = viewer.principal === undefined || isPassing(viewer);
    const isHere = peer === undefined || isLocal(peer);
    const who = !anonymous ? `of ${viewer.principal}` : isHere ? "" : `from ${peerOf(peer)}`;
    const waitS = this.#starts.take(who, anonymous && isHere ? LOCAL : STARTS);
    if (waitS === 0) return undefined;
    return refused("START_LIMIT", `Too many were started: use those you have, or start a ${kind} in ${waitS} s.`);
  }

  /** Refuses with `HANDLE`: unknown or another's, which answer alike, or expired. */
  async find(behaviour: Behaviour, viewer: Viewer, args: Json): Promise<Found | Refused> {
    const { kind } = behaviour;
    const { handle, ...rest } = isJsonObject(args) ? args : {};
    if (handle === undefined) return refused("INVALID", `Give \`handle\`: start_${kind} returns one.`);
    const unknown = refused("HANDLE", `There is no ${kind} of this handle. Start a new one with start_${kind}.`);
    if (!isHandle(handle)) return unknown;
    const id = handleActor(kind, handle);
    const snapshot = await this.#options.engine.read(id);
    if (snapshot?.owner !== undefined && snapshot.owner !== viewer.principal) return unknown;
    const expired = refused("HANDLE", `This ${kind} has ended or expired. Start a new one with start_${kind}.`);
    if (snapshot !== undefined) return snapshot.status === "stopped" ? expired : { id, args: rest };
    const at = mintedAt(this.#secret, kind, viewer.principal, handle);
    if (at === undefined) return unknown;
    if (this.#ended.get(handle) === true) return expired;
    const ageMs = this.#options.clock.now() - at;
    return ageMs > (behaviour.policy.expireMs ?? this.#options.expireMs) + 60_000 ? expired : { id, args: rest };
  }

  async end(behaviour: Behaviour, viewer: Viewer, args: Json): Promise<Reply> {
    const found = await this.find(behaviour, viewer, args);
    if (hasOwn(found, "refused")) return found;
    const { engine } = this.#options;
    if ((await engine.read(found.id)) !== undefined) {
      // A kind may handle the message `end`, to return what it holds of others.
      const ended = engine.call({ to: found.id, action: "end", args: null, viewer: { ...viewer, self: found.id } });
      await ended.catch(() => undefined);
      await engine.stop(found.id, "ended by its holder");
    }
    if (isJsonObject(args) && typeof args["handle"] === "string") this.#ended.set(args["handle"], true);
    return { ok: `The ${behaviour.kind} has ended.` };
  }

  /** The policy of a session's actor. No one finds it again after the session, so it expires, like one that a handle starts. */
  passing({ policy }: Behaviour): Partial<Policy> {
    return { expireMs: policy.expireMs ?? this.#options.expireMs };
  }

  /** The policy of an actor that a handle starts: its starter owns it, and it expires. */
  policy({ policy }: Behaviour, viewer: Viewer): Partial<Policy> {
    const owner: Policy["owner"] = viewer.principal === undefined ? policy.owner : "starter";
    return { owner, expireMs: policy.expireMs ?? this.#options.expireMs };
  }
}

/** As in "90 minutes", "24 hours": in the largest unit of which it is a whole number from two. */
export function describeDuration(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, "days"],
    [3_600_000, "hours"],
    [60_000, "minutes"],
  ];
  for (const [size, name] of units) {
    if (ms >= 2 * size && ms % size === 0) return `${ms / size} ${name}`;
  }
  return counted(Math.max(1, Math.round(ms / 1000)), "second");
}

/** The tools that start and end what a handle stands for. */
export function handleOffers(kind: string, expireMs: number): { readonly start: Offer; readonly end: Offer } {
  const life = describeDuration(expireMs);
  const handle = { type: "string", description: `Give it to every other tool of this ${kind}.` };
  return {
    start: {
      name: `start_${kind}`,
      action: "start",
      readOnly: false,
      definition: {
        description: `Start a new ${kind} and get its handle, which the other tools ask for. It is kept until ${life} have passed without a call; anyone who knows the handle can use it.`,
        inputSchema: { type: "object", properties: {}, additionalProperties: false },
        outputSchema: { type: "object", properties: { handle, kept: { type: "string" } }, required: ["handle", "kept"] },
        annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
      },
    },
    end: {
      name: `end_${kind}`,
      action: "end",
      readOnly: false,
      definition: {
        description: `End a ${kind} for good. Its handle is worth nothing afterwards.`,
        inputSchema: {
          type: "object",
          properties: { handle: { type: "string", description: `What start_${kind} returned.` } },
          required: ["handle"],
          additionalProperties: false,
        },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      },
    },
  };
}
