// Owns: one node of a cluster: its peers, topics and gaps. Does not own: streams to and from peers (outgoing-link.ts,
// incoming-link.ts), leases (membership.ts).
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from "node:http2";
import type { Json, Log, PeerListener, Clock, Closable, Member, Peers } from "../../core/contract/index.ts";
import { nameOf, type ClusterOptions, type Settings } from "./cluster-options.ts";
import { NodeListener, type IncomingLink } from "./incoming-link.ts";
import { noteText } from "./peer-stream.ts";
import { OutgoingLink } from "./outgoing-link.ts";
import { Membership } from "./membership.ts";

/** The listener of each topic. */
export class Topics {
  readonly #listeners = new Map<string, PeerListener>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  on(topic: string, listen: PeerListener): () => void {
    if (this.#listeners.has(topic)) throw new TypeError(`The topic ${topic} has a listener already: undo that one first.`);
    this.#listeners.set(topic, listen);
    return () => {
      if (this.#listeners.get(topic) === listen) this.#listeners.delete(topic);
    };
  }

  /** Never rejects. Listeners start in the order of the calls. */
  async deliver(topic: string, message: Json, from: string): Promise<Json | undefined> {
    try {
      return await this.#listeners.get(topic)?.(message, from);
    } catch (error) {
      this.#log("error", { event: "peer-listener-failed", topic, from, name: nameOf(error) });
      return undefined;
    }
  }
}

/** Runs its listeners when a gap is found, at once and then at most every `gapMs`: a resync costs more than a message. */
export class GapListeners {
  readonly #clock: Clock;
  readonly #gapMs: number;
  readonly #log: Log;
  readonly #listeners = new Set<{ readonly run: () => void }>();
  #undo: (() => void) | undefined;
  #again = false;
  #stopped = false;

  constructor(clock: Clock, gapMs: number, log: Log) {
    this.#clock = clock;
    this.#gapMs = gapMs;
    this.#log = log;
  }

  on(run: () => void): () => void {
    const entry = { run };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  found(): void {
    if (this.#stopped) return;
    if (this.#undo !== undefined) {
      this.#again = true;
      return;
    }
    this.#undo = this.#clock.after(this.#gapMs, () => {
      this.#undo = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.found();
    });
    queueMicrotask(() => this.#run());
  }

  stop(): void {
    this.#stopped = true;
    this.#undo?.();
    this.#listeners.clear();
  }

  #run(): void {
    for (const { run } of this.#listeners) {
      try {
        run();
      } catch (error) {
        this.#log("error", { event: "peer-listener-failed", topic: "gap", name: nameOf(error) });
      }
    }
  }
}

/** Another node, as this one knows it. */
export interface PeerStatus extends Member {
  /** Messages of this node reach it. */
  readonly reached: boolean;
  /** Its messages reach this node. */
  readonly heard: boolean;
  /** How many messages were sent to it, and how many of those never left this node. */
  readonly told: number;
  readonly dropped: number;
}

/** `Peers` over the network. */
export interface Cluster extends Peers, Closable {
  /** Where other nodes reach this one. */
  readonly url: string;
  /**
   * Handles a request of another node and returns true. Returns false, and leaves the request untouched, if its path is not under
   * `/troupe/`. For a request listener of `createServer` of `node:http2`.
   */
  handle(request: Http2ServerRequest, response: Http2ServerResponse): boolean;
  /** The other nodes that this one knows. */
  status(): readonly PeerStatus[];
}

interface Peer extends Member {
  readonly outgoing: OutgoingLink;
  incoming: IncomingLink | undefined;
}

interface NodeOptions {
  readonly members: ClusterOptions["members"];
  readonly drop: ClusterOptions["drop"];
  /** The node's own server, which is closed when the node leaves. */
  readonly server: AsyncDisposable | undefined;
}

export class ClusterNode implements Cluster {
  readonly #settings: Settings;
  readonly #drop: ClusterOptions["drop"];
  readonly #server: AsyncDisposable | undefined;
  readonly #peers = new Map<string, Peer>();
  readonly #topics: Topics;
  readonly #gaps: GapListeners;
  readonly #listener: NodeListener;
  readonly #membership: Membership;
  #undoBeat: () => void = () => undefined;
  #left: Promise<void> | undefined;

  constructor(settings: Settings, options: NodeOptions) {
    this.#settings = settings;
    this.#drop = options.drop;
    this.#server = options.server;
    const { clock, limits, log } = settings;
    this.#topics = new Topics(log);
    this.#gaps = new GapListeners(clock, limits.gapMs, log);
    this.#listener = new NodeListener(settings, {
      admitted: (link) => this.#admitted(link),
      gap: () => this.#gaps.found(),
      deliver: (topic, message, from) => this.#topics.deliver(topic, message, from),
      closed: (link, why) => this.#lost(link, why),
    });
    this.#membership = new Membership(settings, options.members, (others) => this.#listed(others));
  }

  get self(): string {
    return this.#settings.self;
  }

  get url(): string {
    return this.#settings.url;
  }

  async start(): Promise<void> {
    this.#beat();
    await this.#membership.renew();
  }

  tell(topic: string, message: Json): void {
    if (this.#left !== undefined || this.#peers.size === 0) return;
    const note = this.#note(topic, message);
    for (const { outgoing } of this.#peers.values()) outgoing.tell(this.#loses(topic, message) ? undefined : note);
  }

  async ask(node: string, topic: string, message: Json): Promise<Json | undefined> {
    const peer = this.#peers.get(node);
    if (this.#left !== undefined || peer === undefined) return undefined;
    const note = this.#note(topic, message);
    return note === undefined ? undefined : peer.outgoing.ask(note);
  }

  on(topic: string, listen: PeerListener): () => void {
    return this.#topics.on(topic, listen);
  }

  onGap(run: () => void): () => void {
    return this.#gaps.on(run);
  }

  handle(request: Http2ServerRequest, response: Http2ServerResponse): boolean {
    return this.#listener.handle(request, response);
  }

  status(): readonly PeerStatus[] {
    return Array.from(this.#peers.values(), ({ node, url, outgoing, incoming }) => {
      const { up: reached, sent, dropped } = outgoing;
      return { node, url, reached, heard: incoming !== undefined, told: sent, dropped };
    });
  }

  isPeer(session: ServerHttp2Session): boolean {
    for (const { incoming } of this.#peers.values()) if (incoming?.session === session) return true;
    return false;
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  async #leave(): Promise<void> {
    this.#undoBeat();
    this.#gaps.stop();
    this.#listener.close();
    const peers = [...this.#peers.values()];
    this.#peers.clear();
    for (const { incoming } of peers) incoming?.close("left");
    await Promise.all([this.#membership.leave(), ...peers.map(({ outgoing }) => outgoing.close())]);
    await this.#server?.[Symbol.asyncDispose]();
  }

  #note(topic: string, message: Json): string | undefined {
    const note = noteText(topic, message, this.#settings.limits.frameBytes);
    if (note === undefined) this.#settings.log("error", { event: "peer-message-refused", topic: topic.slice(0, 256) });
    return note;
  }

  #loses(topic: string, message: Json): boolean {
    try {
      return this.#drop?.(topic, message) === true;
    } catch (error) {
      this.#settings.log("error", { event: "peer-listener-failed", topic: topic.slice(0, 256), name: nameOf(error) });
      return false;
    }
  }

  #beat(): void {
    const { clock, limits } = this.#settings;
    this.#undoBeat = clock.after(limits.heartbeatMs, () => {
      for (const { outgoing, incoming } of this.#peers.values()) {
        outgoing.beat();
        incoming?.beat();
      }
      this.#beat();
    });
  }

  #peerFor({ node, url }: Member): Peer | undefined {
    const known = this.#peers.get(node);
    if (known !== undefined || this.#peers.size >= this.#settings.limits.peers) return known;
    const peer: Peer = { node, url, outgoing: new OutgoingLink(this.#settings, { node, url }), incoming: undefined };
    this.#peers.set(node, peer);
    return peer;
  }

  #listed(others: readonly Member[]): void {
    const names = new Set(others.map(({ node }) => node));
    // Remove dead nodes first, to make room for live ones.
    for (const { node, outgoing, incoming } of this.#peers.values()) {
      if (names.has(node) || outgoing.up || incoming !== undefined) continue;
      this.#peers.delete(node);
      void outgoing.close();
      this.#settings.log("info", { event: "peer-forgotten", node });
    }
    for (const member of others) {
      // It may be sending messages that do not arrive here, so what did arrive may be incomplete.
      if (this.#peerFor(member)?.incoming === undefined) this.#gaps.found();
    }
  }

  #admitted(link: IncomingLink): boolean {
    const peer = this.#peerFor({ node: link.from, url: link.url });
    if (peer === undefined) return false;
    const before = peer.incoming;
    peer.incoming = link;
    before?.close("replaced");
    // It is alive, although it could not be reached before.
    peer.outgoing.retryNow();
    this.#gaps.found();
    return true;
  }

  #lost(link: IncomingLink, why: string): void {
    const peer = this.#peers.get(link.from);
    if (peer?.incoming !== link) return;
    peer.incoming = undefined;
    this.#settings.log("info", { event: "peer-lost", node: link.from, why });
    this.#gaps.found();
  }
}
