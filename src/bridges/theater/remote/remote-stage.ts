import { type Closable, untilAborted } from "../../../core/contract/index.ts";
import {
  StageError,
  type ChannelPeer,
  type EventQuery,
  type Stage,
  type StageActor,
  type StageChange,
  type StageChannel,
  type StageDetails,
  type StageEvent,
  type StageStart,
} from "../stage.ts";
import { Calls, notFound } from "./calls.ts";
import { Channels } from "./channels.ts";
import { Details } from "./details.ts";
import { Dialer } from "./dialer.ts";
import { EventReader } from "./event-reader.ts";
import { Followers } from "./followers.ts";
import { KeptChains } from "./kept-chains.ts";
import { settingsOf, type RemoteOptions, type Settings } from "./options.ts";
import { passed } from "./passed.ts";
import { RemoteEvents } from "./remote-events.ts";
import { restarted } from "./restart.ts";
import { type Listed, Roster, UUID } from "./roster.ts";
import { Starter } from "./starter.ts";
import { Watching } from "./watching.ts";

/** A stage over any Theater server. Connects on first use. Throws `InvalidRequest`. */
export const remoteStage = (options: RemoteOptions = {}): Stage & Closable => new RemoteStage(settingsOf(options));

class RemoteStage implements Stage, Closable {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #calls: Calls;
  readonly #chains: KeptChains;
  readonly #reader: EventReader;
  readonly #followers: Followers;
  readonly #roster: Roster;
  readonly #watching: Watching;
  readonly #channels: Channels;
  readonly #starter: Starter;
  readonly #details: Details;
  readonly #events: RemoteEvents;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#dialer = new Dialer(settings);
    this.#calls = new Calls(settings, this.#dialer);
    this.#chains = new KeptChains(settings);
    this.#reader = new EventReader(settings, this.#calls, this.#chains);
    this.#followers = new Followers(settings, this.#dialer, (actor, event) => {
      this.#chains.append(actor, event);
      this.#watching.tell({ actor, what: "changed" });
    });
    this.#roster = new Roster(settings, this.#calls, (change) => this.#changed(change));
    this.#watching = new Watching(settings, () => this.#look(), this.#dialer.closing);
    this.#channels = new Channels(settings, this.#dialer, () => this.#watching.keepLooking());
    this.#starter = new Starter(settings, this.#dialer, this.#followers);
    this.#details = new Details(settings, this.#calls, this.#reader, this.#chains);
    this.#events = new RemoteEvents(settings, this.#roster, this.#reader, this.#chains);
  }

  async list(limit: number, after?: string): Promise<readonly StageActor[]> {
    // By id only: the actor may have ended in the meantime, and servers do not list ended ones.
    if (after !== undefined && !UUID.test(after))
      throw new StageError("InvalidRequest", "A list goes on after an actor that it had: give the id of its last one.");
    const all = await this.#roster.all();
    const page = all.filter(({ id }) => after === undefined || id > after.toLowerCase()).slice(0, limit);
    const statuses = await this.#details.statuses(page);
    return page.map(({ id, name }, at) => ({ id, name, status: statuses[at] ?? "RUNNING" }));
  }

  async count(): Promise<number> {
    return (await this.#roster.all()).length;
  }

  async actor(given: string): Promise<StageDetails> {
    const details = await this.#details.of(await this.#find(given));
    this.#settle();
    if (details === undefined) throw notFound(given, this.#settings);
    return details;
  }

  async state(given: string): Promise<Uint8Array | undefined> {
    const { id } = await this.#find(given);
    const answer = await this.#calls.read({ is: "GetActorState", id });
    if (answer === undefined) throw await this.#unanswered(id, "its state");
    return answer.state ?? undefined;
  }

  async start(start: StageStart): Promise<StageActor> {
    const id = await this.#starter.start(start, this.#watching.listened || !this.#reader.reads);
    this.#details.started(id, start);
    this.#roster.began({ id, name: id });
    const found = (await this.#roster.all()).find((actor) => actor.id === id);
    // Servers confirm a start before the actor's `init` has run, which may fail.
    return { id, name: found?.name ?? id, status: found === undefined ? "STOPPED" : "RUNNING" };
  }

  async stop(given: string): Promise<void> {
    const { id } = await this.#roster.find(given);
    await this.#calls.once({ is: "StopActor", id });
    this.#roster.ended(id);
  }

  async restart(given: string): Promise<StageActor> {
    return await restarted(this.#settings, this.#calls, this.#roster, given);
  }

  async send(given: string, data: Uint8Array): Promise<void> {
    const { id } = await this.#find(given);
    await this.#calls.once({ is: "SendActorMessage", id, data });
  }

  async request(given: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    try {
      return await untilAborted(signal, () => this.#request(given, data, signal));
    } catch (error) {
      if (error instanceof StageError) throw error;
      const sentence = "The caller left before the answer came. The actor may have taken the request: read its events to see.";
      throw new StageError("CommunicationError", sentence, { cause: error });
    }
  }

  async open(given: string, initial: Uint8Array, peer: ChannelPeer): Promise<StageChannel> {
    const { id } = await this.#find(given);
    return await this.#channels.open(id, initial, peer);
  }

  async events(given: string, query: EventQuery): Promise<readonly StageEvent[]> {
    const events = await this.#events.page(given, query);
    // If the server stores no chains, the events followed from now on are all there will be.
    if (this.#reader.cannot) await this.#find(given).catch(() => undefined);
    this.#settle();
    return events;
  }

  async event(eventId: string): Promise<StageEvent | undefined> {
    return await this.#events.event(eventId);
  }

  watch(listener: (change: StageChange) => void): () => void {
    if (!this.#watching.listened) this.#roster.forget();
    const undo = this.#watching.add(listener);
    return () => {
      undo();
      this.#settle();
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

  get #follows(): boolean {
    return this.#watching.listened || this.#reader.cannot;
  }

  async #find(given: string): Promise<Listed> {
    const found = await this.#roster.find(given);
    if (this.#follows) this.#followers.touch(found.id);
    return found;
  }

  /** Stops following once it is known that chains can be read, if it began only because that was unknown. */
  #settle(): void {
    if (this.#reader.reads && !this.#watching.listened) this.#followers.clear();
  }

  async #look(): Promise<void> {
    const all = await this.#roster.all();
    if (!this.#watching.listened) return;
    for (const { id } of all) {
      if (this.#followers.full) break;
      this.#followers.touch(id);
    }
  }

  #changed(change: StageChange): void {
    if (change.what === "ended") {
      this.#followers.drop(change.actor);
      this.#channels.endOf(change.actor);
    }
    this.#watching.tell(change);
  }

  async #request(given: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const { id } = await this.#find(given);
    const answer = await this.#calls.request(id, data, signal);
    if (answer !== undefined) return answer.message;
    throw (await this.#failure(id)) ?? (await this.#unanswered(id, "an answer to the request"));
  }

  /** Upstream closes the connection of a request whose actor failed, or is paused. */
  async #failure(id: string): Promise<StageError | undefined> {
    const { clock, limits } = this.#settings;
    if (this.#reader.cannot) await passed(clock, limits.graceMs, this.#dialer.closing);
    const chain = (await this.#reader.read(id, limits.probeMs, 1).catch(() => undefined)) ?? this.#chains.get(id);
    if (chain?.halted === undefined) return undefined;
    const { after, why } = chain.halted;
    const sentence = `The actor failed at its event ${after}: ${why.slice(0, 1_000)}. It is paused and takes nothing more: stop it and start another.`;
    return new StageError("ActorError", sentence);
  }

  /** The error for a connection that was closed instead of an answer. */
  async #unanswered(id: string, what: string): Promise<StageError> {
    // If the server is down as well, the unanswered command is the more useful error.
    const all = await this.#roster.all().catch(() => undefined);
    if (all?.some((actor) => actor.id === id) === false) return notFound(id, this.#settings);
    const { server } = this.#settings;
    const sentence = `The connection to ${server} was closed in place of ${what}, so whether anything was done is unknown: read the actor's events to see. It was not sent again where that could do it twice.`;
    return new StageError("CommunicationError", sentence);
  }
}
