// Owns: our own engine as a stage. Does not own: addresses (stage-actors.ts), events (stage-events.ts, theater-chains.ts), channels
// (engine-channels.ts).
import { readHeader } from "../../../core/chain/index.ts";
import {
  checkOptions,
  type OptionTable,
  FUNCTION,
  type ActorId,
  type Behaviour,
  type Change,
  type Closable,
  type ContentStore,
  type Engine,
  EngineError,
  type Entropy,
  type OfferRef,
  type Reply,
  type Snapshot,
  systemEntropy,
  TroupeError,
} from "../../../core/contract/index.ts";
import { BEGIN_ACTION, omitUndefined } from "../../../core/contract/internal.ts";
import { Acting } from "../../../mcp/source/index.ts";
import { GUEST, type Guests, type GuestState } from "../../wasm/index.ts";
import {
  type ActorEnd,
  type ChainPage,
  type ChannelPeer,
  type EventQuery,
  type StageActor,
  type StageChange,
  type StageChannel,
  type StageDetails,
  StageError,
  type StageEvent,
  type StageStart,
  type TheaterEvent,
  type TheaterStage,
} from "../stage.ts";
import { EngineChannels } from "./engine-channels.ts";
import { bytesIn, jsonBytes, type JsonMessage, parseInitialState, parseMessage, toBase64 } from "./messages.ts";
import {
  actorIdOf,
  actorNotFound,
  findByManifestName,
  guestIdOf,
  guestStateOf,
  haltOf,
  resolveAddress,
  stageActor,
  stageDetails,
} from "./stage-actors.ts";
import { guestReply, replyValue, withStageErrors } from "./stage-errors.ts";
import { eventPage, singleEvent } from "./stage-events.ts";
import { TheaterChains } from "./theater-chains.ts";

/** Options of `EngineStage`. */
export interface EngineStageOptions {
  readonly engine: Engine;
  /** Default: no guests can be started. */
  readonly guests?: Guests;
  /** Default: the content store of `guests`, or an empty one without guests. */
  readonly contents?: Pick<ContentStore, "get">;
  /** The kinds that `kind:<name>` starts. */
  readonly kinds: readonly Behaviour[];
  readonly entropy?: Entropy;
  /** Receives what a listener threw. */
  readonly onFault?: (error: unknown) => void;
}

const OPTIONS: OptionTable<EngineStageOptions> = {
  engine: true,
  guests: true,
  contents: true,
  kinds: true,
  entropy: true,
  onFault: FUNCTION,
};

const NO_CONTENTS: Pick<ContentStore, "get"> = { get: async () => undefined };
const KIND = "kind:";
/** The address of all actors of all kinds. */
const ALL = "*/*";

/** Our own engine as a stage, with guests and all other actors. */
export class EngineStage implements TheaterStage, Closable {
  readonly #options: EngineStageOptions & Required<Pick<EngineStageOptions, "contents" | "entropy">>;
  readonly #engine: Engine;
  readonly #acting: Acting;
  readonly #channels: EngineChannels;
  readonly #chains: TheaterChains;
  readonly #starting = new Set<ActorId>();
  /** Damaged actors that were reported. */
  readonly #damaged = new Set<ActorId>();

  constructor(options: EngineStageOptions) {
    checkOptions("EngineStage", options, OPTIONS);
    const { engine, guests, kinds, contents = guests?.contents ?? NO_CONTENTS, entropy = systemEntropy } = options;
    this.#options = { ...options, contents, entropy };
    this.#engine = engine;
    this.#acting = new Acting({ engine, kinds, names: "dots" });
    this.#channels = new EngineChannels(engine, entropy, guests?.host ?? entropy.uuid());
    this.#chains = new TheaterChains(engine, contents);
  }

  async list(limit: number, after?: string): Promise<readonly StageActor[]> {
    return this.#withStageErrors(async () => {
      let from = after === undefined ? undefined : (await this.#find(after).catch(rejectCursor)).id;
      const listed: StageActor[] = [];
      // Others take the place of those that cannot be read: fewer than `limit` means that there are no more.
      for (;;) {
        const missing = limit - listed.length;
        const changes = await this.#engine.list({ live: true, limit: missing, ...omitUndefined({ after: from }) });
        const read = await Promise.all(changes.map(({ id }) => this.#readListed(id)));
        listed.push(...read.filter((snapshot) => snapshot !== undefined).map(stageActor));
        if (changes.length < missing || listed.length === limit) return listed;
        from = changes.at(-1)?.id;
      }
    });
  }

  count(): Promise<number> {
    return this.#withStageErrors(() => this.#engine.count({ live: true }));
  }

  actor(id: string): Promise<StageDetails> {
    return this.#withStageErrors(async () =>
      stageDetails(this.#engine, await this.#find(id), this.#options.contents, this.#options.guests),
    );
  }

  state(id: string): Promise<Uint8Array | undefined> {
    return this.#withStageErrors(async () => {
      const snapshot = await this.#find(id);
      const guest = guestStateOf(snapshot);
      if (guest === undefined) return jsonBytes(snapshot.state);
      if (guest.state === null) return undefined;
      const bytes = await this.#options.contents.get(guest.state);
      if (bytes === undefined) throw new StageError("StoreError", `The state of ${snapshot.id} is no longer in the content store.`);
      return bytes;
    });
  }

  start(start: StageStart): Promise<StageActor> {
    return this.#withStageErrors(async () => {
      const to = start.manifest.startsWith(KIND) ? await this.#startKind(start) : await this.#startGuest(start);
      return stageActor(await this.#find(to));
    });
  }

  stop(id: string): Promise<void> {
    return this.#withStageErrors(async () => {
      const actor = await this.#findRunning(id);
      await this.#engine.stop(actor.id, "stopped by an operator");
    });
  }

  terminate(id: string): Promise<void> {
    return this.stop(id);
  }

  restart(id: string): Promise<StageActor> {
    return this.#withStageErrors(async () => {
      const before = await this.#findRunning(id);
      await this.#engine.restart(before.id);
      if (guestStateOf(before) !== undefined) replyValue(await this.#engine.call({ to: before.id, action: "resume", args: {} }));
      return stageActor(await this.#find(before.id));
    });
  }

  send(id: string, data: Uint8Array): Promise<void> {
    return this.#withStageErrors(async () => {
      const actor = await this.#findReady(id);
      const message = guestStateOf(actor) === undefined ? parseMessage(data) : { action: "send", args: { data: toBase64(data) } };
      if (isTool(message.action) && this.#isLinked(actor, message.action))
        throw new StageError(
          "InvalidRequest",
          `${message.action} is what the actor's links lead to: request it, since whose it is may change before a send arrives.`,
        );
      await this.#engine.send({ to: actor.id, ...message });
    });
  }

  request(id: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    return this.#withStageErrors(async () => {
      const actor = await this.#findReady(id);
      const isGuest = guestStateOf(actor) !== undefined;
      const pending = isGuest
        ? this.#engine.call({ to: actor.id, action: "request", args: { data: toBase64(data) } }, { signal })
        : this.#requestAction(actor, parseMessage(data), signal);
      const reply = await pending.catch((error: unknown) => {
        throw isRestart(error, signal)
          ? new StageError(
              "ActorError",
              `${displayName(actor)} was restarted before it answered: ask again. Its events tell what it did until then.`,
            )
          : error;
      });
      if (!isGuest) return jsonBytes(replyValue(reply));
      return bytesIn(guestReply(reply)) ?? new Uint8Array();
    });
  }

  open(id: string, initial: Uint8Array, peer: ChannelPeer): Promise<StageChannel> {
    return this.#withStageErrors(async () => {
      const actor = await this.#findReady(id);
      if (guestStateOf(actor) === undefined)
        throw new StageError("ChannelRejected", `${actor.id} is no WebAssembly guest, and takes no channels: send it messages.`);
      return this.#channels.open(actor.id, initial, peer);
    });
  }

  events(id: string, query: EventQuery): Promise<readonly StageEvent[]> {
    return this.#withStageErrors(async () => {
      const actor = await this.#find(id);
      return eventPage(this.#engine, actor.id, actor.uid, actor.seq, query);
    });
  }

  event(eventId: string): Promise<StageEvent | undefined> {
    return this.#withStageErrors(async () => {
      const event = await this.#engine.event(eventId);
      if (event === undefined) return undefined;
      const actor = await this.#engine.read(readHeader(event).actor);
      return singleEvent(this.#engine, event, actor?.uid ?? "");
    });
  }

  watch(listener: (change: StageChange) => void): () => void {
    return this.#engine.watch(ALL, (change) => void this.#notify(change, listener));
  }

  async chain(id: string): Promise<readonly TheaterEvent[]> {
    return this.#withStageErrors(async () => this.#chains.whole(await this.#find(id)));
  }

  async chainPage(id: string, query: EventQuery): Promise<ChainPage> {
    return this.#withStageErrors(async () => this.#chains.page(await this.#find(id), query));
  }

  follow(id: string, listener: { event(event: TheaterEvent): void; ended(end: ActorEnd): void }): Promise<() => void> {
    return this.#withStageErrors(async () => this.#chains.follow(await this.#find(id), listener));
  }

  update(id: string, component: string): Promise<void> {
    return this.#withStageErrors(async () => {
      const actor = await this.#findRunning(id);
      const guest = guestStateOf(actor);
      if (guest === undefined)
        throw new StageError(
          "InvalidRequest",
          `${actor.id} is no WebAssembly guest: serve its module with other code, and it goes on with that.`,
        );
      const digest = await this.#guests().component(component, guest);
      replyValue(await this.#engine.call({ to: actor.id, action: "update", args: { component: digest, origin: component } }));
    });
  }

  async newStore(): Promise<string> {
    return this.#options.entropy.uuid();
  }

  content(digest: string): Promise<Uint8Array | undefined> {
    return this.#withStageErrors(() => this.#options.contents.get(digest));
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#chains.close();
    await this.#channels.closeAll();
  }

  /** An action of a linked actor is requested by its tool name, like an own action, and goes to the actor the link leads to now. */
  #requestAction(actor: Snapshot, { action, args }: JsonMessage, signal: AbortSignal): Promise<Reply> {
    if (!isTool(action) || !this.#isLinked(actor, action)) return this.#engine.call({ to: actor.id, action, args }, { signal });
    const viewer = { scopes: [], ...omitUndefined({ principal: actor.owner }) };
    return this.#acting.act(actor.id, viewer, action, args, { signal });
  }

  #isLinked({ id }: Snapshot, action: OfferRef): boolean {
    const own = this.#options.kinds.find(({ kind }) => id.startsWith(`${kind}/`));
    return own?.catalogue?.tools.every((offer) => offer.action !== action) === true && this.#acting.mayOffer(id, action);
  }

  #withStageErrors<T>(run: () => Promise<T>): Promise<T> {
    return withStageErrors(run, this.#options.onFault);
  }

  // ── lookup ────────────────────────────────────────────────────────────────

  async #find(id: string): Promise<Snapshot> {
    const snapshot = (await this.#engine.read(await resolveAddress(this.#engine, id))) ?? (await findByManifestName(this.#engine, id));
    if (snapshot === undefined) throw actorNotFound(id);
    return snapshot;
  }

  /** Undefined if its chain is damaged, which must not hide the other actors. */
  async #readListed(id: ActorId): Promise<Snapshot | undefined> {
    try {
      return await this.#engine.read(id);
    } catch (error) {
      if (!(error instanceof TroupeError) || error.code !== "STORE_CORRUPT") throw error;
      if (!this.#damaged.has(id)) this.#options.onFault?.(error);
      this.#damaged.add(id);
      return undefined;
    }
  }

  async #findRunning(id: string): Promise<Snapshot> {
    const snapshot = await this.#find(id);
    if (snapshot.status === "stopped")
      throw new StageError("ActorNotRunning", `${displayName(snapshot)} has stopped: start_actor with its manifest begins another.`);
    return snapshot;
  }

  async #findReady(id: string): Promise<Snapshot> {
    const snapshot = await this.#findRunning(id);
    const guest = guestStateOf(snapshot);
    const halt = await haltOf(this.#engine, snapshot);
    if (halt !== undefined && guest !== undefined)
      throw new StageError(
        "ActorError",
        `${displayName(snapshot)} is paused after event ${halt.after} (${halt.why}); restart_actor resumes.`,
      );
    if (guest !== undefined) await this.#closeStale(snapshot.id, guest);
    return snapshot;
  }

  /** Closes channels of ended processes first: the reply may depend on them. If the guest fails at that, the call fails as well. */
  async #closeStale(id: ActorId, guest: GuestState): Promise<void> {
    const closes = this.#options.guests?.stale(id, guest) ?? [];
    if (closes.length > 0) await Promise.allSettled(closes.map((close) => this.#engine.call(close)));
  }

  // ── start ─────────────────────────────────────────────────────────────────

  #guests(): Guests {
    const { guests } = this.#options;
    if (guests === undefined) throw new StageError("InvalidRequest", `No guests run here: start "${KIND}<name>", one of ${this.#kinds()}.`);
    return guests;
  }

  async #startGuest({ manifest, initialState, component, name }: StageStart): Promise<ActorId> {
    const to: ActorId = name === undefined ? `${GUEST}/${this.#options.entropy.uuid()}` : guestIdOf(name);
    if (name !== undefined) await this.#assertNameFree(to, name);
    const message = await this.#guests().prepare({
      to,
      manifest,
      ...omitUndefined({ component, initialState }),
    });
    guestReply(await this.#engine.call(message));
    return to;
  }

  async #startKind({ manifest, initialState, component, name }: StageStart): Promise<ActorId> {
    const kind = manifest.slice(KIND.length);
    if (component !== undefined)
      throw new StageError("InvalidRequest", `A component goes with a guest's manifest; "${manifest}" is no guest.`);
    if (!this.#options.kinds.some((one) => one.kind === kind))
      throw new StageError("InvalidRequest", `There is no kind "${kind.slice(0, 64)}" here, only ${this.#kinds()}.`);
    const key = name ?? this.#options.entropy.uuid();
    const to = actorIdOf(kind, key);
    const args = initialState === undefined ? {} : parseInitialState(initialState);
    // An actor that runs already accepts the first message as well: of two starts at once, both would get the same actor.
    if (this.#starting.has(to))
      throw new StageError("ActorAlreadyExists", `"${key}" is being started already: wait for it, or give another name.`);
    this.#starting.add(to);
    try {
      await this.#assertNameFree(to, key);
      replyValue(await this.#engine.call({ to, action: BEGIN_ACTION, args, start: args }));
    } finally {
      this.#starting.delete(to);
    }
    return to;
  }

  async #assertNameFree(to: ActorId, name: string): Promise<void> {
    const existing = await this.#engine.read(to);
    if (existing !== undefined && existing.status !== "stopped")
      throw new StageError("ActorAlreadyExists", `"${name}" runs already, as ${existing.uid}: stop it first, or give another name.`);
  }

  #kinds(): string {
    return this.#options.kinds.map(({ kind }) => kind).join(", ") || "none";
  }

  // ── changes ───────────────────────────────────────────────────────────────

  async #notify(change: Change, listener: (change: StageChange) => void): Promise<void> {
    const snapshot = await this.#engine.read(change.id).catch(() => undefined);
    if (snapshot === undefined) return;
    // By the message count, since a new incarnation continues the same chain.
    const what = change.status === "stopped" ? "ended" : snapshot.messageCount === 1 ? "began" : "changed";
    try {
      listener({ actor: snapshot.uid, what });
    } catch (error) {
      this.#options.onFault?.(error);
    }
  }
}

function rejectCursor(error: unknown): never {
  if (!(error instanceof StageError) || error.code !== "ActorNotFound") throw error;
  throw new StageError("InvalidRequest", "A list goes on after an actor that it had: give the id of its last one.", { cause: error });
}

/** With the id, since several actors may run under one manifest's name. */
const displayName = (snapshot: Snapshot): string => `${stageActor(snapshot).name} (${snapshot.uid})`;

const isTool = (action: string): action is OfferRef => action.startsWith("tools/");

/** A restart cancels running calls although their callers have not cancelled. */
const isRestart = (error: unknown, signal: AbortSignal): boolean =>
  error instanceof EngineError && error.code === "CANCELLED" && !signal.aborted;
