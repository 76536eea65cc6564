import { secretBytes } from "../../core/platform/index.ts";
import {
  type ActorId,
  type Behaviour,
  type Clock,
  type Engine,
  type Entropy,
  isBag,
  type Json,
  type Policy,
  type Rate,
  type Reply,
  TokenBuckets,
  type Viewer,
} from "../../core/contract/index.ts";
import { hasOwn, isLocal, peerOf } from "../../core/contract/internal.ts";
import { handleActor, isHandle, mintedAt, mintHandle, sayDuration } from "./handle.ts";
import { isPassing } from "./access.ts";
import { Lru } from "./lru.ts";
import { type Refused, refused } from "./offers.ts";

export interface HandlesOptions {
  readonly engine: Pick<Engine, "call" | "read" | "stop">;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly expireMs: number;
  readonly secret: Uint8Array | undefined;
}

/** The actor a handle stands for, and the arguments without it. */
export interface Found {
  readonly id: ActorId;
  readonly args: Json;
}

/** Of a principal, or of a remote peer without one. */
const STARTS: Rate = { perSecond: 5, burst: 1_000 };
/** Of all callers without a principal on this machine: they cannot be told apart. */
const LOCAL: Rate = { perSecond: 50, burst: 10_000 };

/** Mints, finds and ends what handles stand for. */
export class Handles {
  readonly #options: HandlesOptions;
  readonly #secret: Uint8Array;
  readonly #starts: TokenBuckets;
  // Of what never began, or lived in memory only, no engine remembers that it ended.
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
    return { ok: { handle, kept: `until ${sayDuration(policy.expireMs ?? expireMs)} have passed without a call` } };
  }

  /**
   * Counts an actor that this caller starts. A session is not counted by itself: one peer opens any number of them.
   * Returns the refusal `START_LIMIT` where the caller has started too many.
   */
  count({ kind }: Behaviour, viewer: Viewer, peer: string | undefined): Refused | undefined {
    const anonymous = viewer.principal === undefined || isPassing(viewer);
    const isHere = peer === undefined || isLocal(peer);
    const who = !anonymous ? `of ${viewer.principal}` : isHere ? "" : `from ${peerOf(peer)}`;
    const waitS = this.#starts.take(who, anonymous && isHere ? LOCAL : STARTS);
    if (waitS === 0) return undefined;
    return refused("START_LIMIT", `Too many were started: use those you have, or start a ${kind} in ${waitS} s.`);
  }

  /** Code `HANDLE`: unknown, of somebody else (both alike) or expired. */
  async find(behaviour: Behaviour, viewer: Viewer, args: Json): Promise<Found | Refused> {
    const { kind } = behaviour;
    const { handle, ...rest } = isBag(args) ? args : {};
    if (handle === undefined) return refused("INVALID", `Give \`handle\`: start_${kind} returns one.`);
    const nowhere = refused("HANDLE", `There is no ${kind} of this handle. Start a new one with start_${kind}.`);
    if (!isHandle(handle)) return nowhere;
    const id = handleActor(kind, handle);
    const snapshot = await this.#options.engine.read(id);
    if (snapshot?.owner !== undefined && snapshot.owner !== viewer.principal) return nowhere;
    const expired = refused("HANDLE", `This ${kind} has ended or expired. Start a new one with start_${kind}.`);
    if (snapshot !== undefined) return snapshot.status === "stopped" ? expired : { id, args: rest };
    const at = mintedAt(this.#secret, kind, viewer.principal, handle);
    if (at === undefined) return nowhere;
    if (this.#ended.get(handle) === true) return expired;
    const ageMs = this.#options.clock.now() - at;
    return ageMs > (behaviour.policy.expireMs ?? this.#options.expireMs) + 60_000 ? expired : { id, args: rest };
  }

  async end(behaviour: Behaviour, viewer: Viewer, args: Json): Promise<Reply> {
    const found = await this.find(behaviour, viewer, args);
    if (hasOwn(found, "refused")) return found;
    const { engine } = this.#options;
    if ((await engine.read(found.id)) !== undefined) {
      // Its last words, where its kind has any (a message `end`): what it holds of others can go back.
      const words = engine.call({ to: found.id, action: "end", args: null, viewer: { ...viewer, self: found.id } });
      await words.catch(() => undefined);
      await engine.stop(found.id, "ended by its holder");
    }
    if (isBag(args) && typeof args["handle"] === "string") this.#ended.set(args["handle"], true);
    return { ok: `The ${behaviour.kind} has ended.` };
  }

  /** What the actor of a session is given, which nobody finds again after it: like one that begins by a handle, it ends by itself. */
  passing({ policy }: Behaviour): Partial<Policy> {
    return { expireMs: policy.expireMs ?? this.#options.expireMs };
  }

  /** What an actor that begins by a handle is given: it belongs to its starter, and ends by itself. */
  policy({ policy }: Behaviour, viewer: Viewer): Partial<Policy> {
    const owner: Policy["owner"] = viewer.principal === undefined ? policy.owner : "starter";
    return { owner, expireMs: policy.expireMs ?? this.#options.expireMs };
  }
}
