// Owns: a Theater server as a stage. Does not own: its parts: commands, actors, events, channels (their files).
import { type Closable, untilAborted } from "../../../core/contract/index.ts";
import {
  type ChannelPeer,
  type EventQuery,
  type Stage,
  type StageActor,
  type StageChange,
  type StageChannel,
  type StageDetails,
  StageError,
  type StageEvent,
  type StageStart,
  UUID,
} from "../stage.ts";
import { ActorDetails } from "./actor-details.ts";
import { ActorList, ChangePoller, type ListedActor } from "./actor-list.ts";
import { ChainCache } from "./chain-cache.ts";
import { CommandClient } from "./command-client.ts";
import { delay, Dialer } from "./dialer.ts";
import { EventFollowers } from "./event-followers.ts";
import { type RemoteOptions, type Settings, settingsOf } from "./options.ts";
import { RemoteChannels } from "./remote-channels.ts";
import { ChainReader, RemoteEvents } from "./remote-events.ts";
import { ActorStarter, restartActor } from "./start-actor.ts";
import { actorNotFound } from "./errors.ts";

/** A stage over any Theater server. Connects on first use. Throws `InvalidRequest`. */
export const remoteStage = (options: RemoteOptions = {}): Stage & Closable => new RemoteStage(settingsOf(options));

/** Notices what an actor did while its events were not followed. */
class Activity {
  readonly #read: () => Promise<string | undefined>;
  readonly #onChange: () => void;
  #last: string | undefined;
  #previous: Promise<void> = Promise.resolve();

  constructor(read: () => Promise<string | undefined>, onChange: () => void) {
    this.#read = read;
    this.#onChange = onChange;
  }

  /** One check at a time. Does not throw. */
  check(): Promise<void> {
    return (this.#previous = this.#previous.then(() => this.#check()));
  }

  async #check(): Promise<void> {
    const now = await this.#read().catch(() => undefined);
    if (now === undefined) return;
    const isOther = this.#last !== undefined && this.#last !== now;
    this.#last = now;
    if (isOther) this.#onChange();
  }
}

class RemoteStage implements Stage, Closable {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #commands: CommandClient;
  readonly #chains: ChainCache;
  readonly #chainReader: ChainReader;
  readonly #followers: EventFollowers;
  readonly #actors: ActorList;
  readonly #poller: ChangePoller;
  readonly #channels: RemoteChannels;
  readonly #starter: ActorStarter;
  readonly #details: ActorDetails;
  readonly #events: RemoteEvents;
  /** Of the prioritized actors. */
  readonly #activities = new Map<string, Activity>();
  /** Of which an event has come that is not reported yet. */
  readonly #changed = new Set<string>();

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#dialer = new Dialer(settings);
    this.#commands = new CommandClient(settings, this.#dialer);
    this.#chains = new ChainCache(settings);
    this.#chainReader = new ChainReader(settings, this.#commands, this.#chains);
    this.#followers = new EventFollowers(settings, this.#dialer, {
      event: (actor, event) => {
        this.#chains.append(actor, event);
        this.#notifySoon(actor);
      },
      subscribed: (actor) => void this.#activities.get(actor)?.check(),
    });
    this.#actors = new ActorList(settings, this.#commands, (change) => this.#onChange(change));
    this.#poller = new ChangePoller(settings, () => this.#followAll(), this.#dialer.closing);
    this.#channels = new RemoteChannels(settings, this.#dialer, () => this.#poller.startPolling());
    this.#starter = new ActorStarter(settings, this.#dialer, this.#followers);
    this.#details = new ActorDetails(settings, this.#commands, this.#chainReader, this.#chains);
    this.#events = new RemoteEvents(settings, this.#actors, this.#chainReader, this.#chains);
  }

  async list(limit: number, after?: string): Promise<readonly StageActor[]> {
    // By id only: the actor may have ended in the meantime, and servers do not list ended ones.
    if (after !== undefined && !UUID.test(after))
      throw new StageError("InvalidRequest", "A list goes on after an actor that it had: give the id of its last one.");
    const all = await this.#actors.all();
    const page = all.filter(({ id }) => after === undefined || id > after.toLowerCase()).slice(0, limit);
    const statuses = await this.#details.statuses(page);
    return page.map(({ id, name }, at) => ({ id, name, status: statuses[at] ?? "RUNNING" }));
  }

  async count(): Promise<number> {
    return (await this.#actors.all()).length;
  }

  async actor(idOrName: string): Promise<StageDetails> {
    const details = await this.#details.of(await this.#find(idOrName));
    this.#stopNeedlessFollowing();
    if (details === undefined) throw actorNotFound(idOrName, this.#settings);
    return details;
  }

  async state(idOrName: string): Promise<Uint8Array | undefined> {
    const { id } = await this.#find(idOrName);
    const answer = await this.#commands.read({ type: "GetActorState", id });
    if (answer === undefined) throw await this.#unansweredError(id, "its state");
    return answer.state ?? undefined;
  }

  async start(start: StageStart): Promise<StageActor> {
    const id = await this.#starter.start(start, this.#poller.hasListeners || !this.#chainReader.canRead);
    this.#details.recordStart(id, start);
    this.#actors.recordStart({ id, name: id });
    const all = await this.#actors.all().catch((error: unknown) => {
      if (!(error instanceof StageError)) throw error;
    });
    // It was started, whether or not it can be listed now: without its id, the caller would start another.
    if (all === undefined) return { id, name: id, status: "RUNNING" };
    const found = all.find((actor) => actor.id === id);
    // Servers confirm a start before the actor's `init` has run, which may fail.
    return { id, name: found?.name ?? id, status: found === undefined ? "STOPPED" : "RUNNING" };
  }

  async stop(idOrName: string): Promise<void> {
    const { id } = await this.#actors.find(idOrName);
    await this.#commands.once({ type: "StopActor", id });
    this.#actors.recordEnd(id);
  }

  async restart(idOrName: string): Promise<StageActor> {
    return await restartActor(this.#settings, this.#commands, this.#actors, idOrName);
  }

  async send(idOrName: string, data: Uint8Array): Promise<void> {
    const { id } = await this.#find(idOrName);
    await this.#commands.once({ type: "SendActorMessage", id, data });
  }

  async request(idOrName: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    try {
      return await untilAborted(signal, () => this.#request(idOrName, data, signal));
    } catch (error) {
      if (error instanceof StageError) throw error;
      const sentence = "The caller left before the answer came. The actor may have taken the request: read its events to see.";
      throw new StageError("CommunicationError", sentence, { cause: error });
    }
  }

  async open(idOrName: string, initial: Uint8Array, peer: ChannelPeer): Promise<StageChannel> {
    const { id } = await this.#find(idOrName);
    return await this.#channels.open(id, initial, peer);
  }

  async events(idOrName: string, query: EventQuery): Promise<readonly StageEvent[]> {
    const events = await this.#events.page(idOrName, query);
    // If the server stores no chains, the events followed from now on are all there will be.
    if (this.#chainReader.cannotRead) await this.#find(idOrName).catch(() => undefined);
    this.#stopNeedlessFollowing();
    return events;
  }

  async event(eventId: string): Promise<StageEvent | undefined> {
    return await this.#events.event(eventId);
  }

  watch(listener: (change: StageChange) => void): () => void {
    if (!this.#poller.hasListeners) this.#actors.reset();
    const undo = this.#poller.add(listener);
    return () => {
      undo();
      this.#stopNeedlessFollowing();
    };
  }

  prioritize(actor: string): () => void {
    const id = actor.toLowerCase();
    const undo = this.#followers.prioritize(id);
    if (!this.#activities.has(id)) {
      const activity = new Activity(
        () => this.#details.activity(id),
        () => this.#poller.notify({ actor: id, what: "changed" }),
      );
      this.#activities.set(id, activity);
      // Only then is what happens until the actor is followed noticed.
      void activity.check().then(() => this.#activities.has(id) && this.#followers.follow(id));
    }
    return () => {
      undo();
      if (!this.#followers.isPrioritized(id)) this.#activities.delete(id);
    };
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#channels.close();
    this.#followers.clear();
    this.#dialer.close();
  }

  get #mustFollow(): boolean {
    return this.#poller.hasListeners || this.#chainReader.cannotRead;
  }

  async #find(idOrName: string): Promise<ListedActor> {
    const found = await this.#actors.find(idOrName);
    if (this.#mustFollow) this.#followers.follow(found.id);
    return found;
  }

  /** Stops following once it is known that chains can be read, if it began only because that was unknown. */
  #stopNeedlessFollowing(): void {
    if (this.#chainReader.canRead && !this.#poller.hasListeners) this.#followers.clear();
  }

  async #followAll(): Promise<void> {
    await this.#actors.all();
    // Not the list just read, which may be older than a start or an end.
    const { known } = this.#actors;
    if (!this.#poller.hasListeners || known === undefined) return;
    this.#followers.keep(known);
    const { prioritized } = this.#followers;
    for (const id of prioritized) if (known.has(id)) this.#followers.follow(id);
    for (const id of known.keys()) {
      if (this.#followers.isFull) break;
      this.#followers.follow(id);
    }
    for (const id of prioritized) if (known.has(id) && !this.#followers.isFollowed(id)) await this.#activities.get(id)?.check();
  }

  #onChange(change: StageChange): void {
    if (change.what === "ended") {
      this.#followers.drop(change.actor);
      // Its end is the last that is reported of it.
      this.#changed.delete(change.actor);
      this.#channels.endAllOf(change.actor);
    }
    this.#poller.notify(change);
  }

  /** One call leaves several events, which arrive together. A hint for each would count as a change that was changed back. */
  #notifySoon(actor: string): void {
    if (this.#changed.size === 0)
      setImmediate(() => {
        const changed = Array.from(this.#changed);
        this.#changed.clear();
        for (const one of changed) this.#poller.notify({ actor: one, what: "changed" });
      });
    this.#changed.add(actor);
  }

  async #request(idOrName: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const { id } = await this.#find(idOrName);
    const answer = await this.#commands.request(id, data, signal);
    if (answer !== undefined) return answer.message;
    throw (await this.#actorFailure(id)) ?? (await this.#unansweredError(id, "an answer to the request"));
  }

  /** Upstream closes the connection of a request whose actor failed, or is paused. */
  async #actorFailure(id: string): Promise<StageError | undefined> {
    const { clock, limits } = this.#settings;
    if (this.#chainReader.cannotRead) await delay(clock, limits.graceMs, this.#dialer.closing);
    const chain = (await this.#chainReader.read(id, limits.probeMs, 1).catch(() => undefined)) ?? this.#chains.get(id);
    if (chain?.halted === undefined) return undefined;
    const { after, why } = chain.halted;
    const sentence = `The actor failed at its event ${after}: ${why.slice(0, 1_000)}. It is paused and takes nothing more: stop it and start another.`;
    return new StageError("ActorError", sentence);
  }

  /** The error for a connection that was closed instead of an answer. */
  async #unansweredError(id: string, what: string): Promise<StageError> {
    // If the server is down as well, the unanswered command is the more useful error.
    const all = await this.#actors.all().catch(() => undefined);
    if (all?.some((actor) => actor.id === id) === false) return actorNotFound(id, this.#settings);
    const { server } = this.#settings;
    const sentence = `The connection to ${server} was closed in place of ${what}, so whether anything was done is unknown: read the actor's events to see. It was not sent again where that could do it twice.`;
    return new StageError("CommunicationError", sentence);
  }
}
