// Owns: one legacy client: its row, and the requests, streams and subscriptions it has in this process. Does not own: which sessions there
// are (sessions.ts).
import {
  type CancelSignal,
  type Caller,
  type Channel,
  type Json,
  type LogLevel,
  Queues,
  type SessionReport,
  type SessionRow,
  type Source,
  type Viewer,
  type ListName,
  type Log,
} from "../../../core/contract/index.ts";
import { omitUndefined, sameClaims } from "../../../core/contract/internal.ts";
import type { ListMode } from "../../source/index.ts";
import { ActiveRequests, isLogLevel } from "../active-requests.ts";
import { viewerOf } from "../core.ts";
import { canOf } from "../envelope.ts";
import { inLog } from "../errors.ts";
import { type Notification, notificationText } from "../json-rpc.ts";
import { indexOf } from "../find-offer.ts";
import type { Settings } from "../options.ts";
import { has, isLegacyRevision, LATEST_LEGACY, type LegacyRevision } from "../revision.ts";
import { sessionName } from "../session-name.ts";
import { Throttle } from "../time-slices.ts";
import { EVERY_LIST, ClientNotifications, type SubscriptionHost } from "../client-notifications.ts";
import { ClientRequests } from "./client-requests.ts";
import type { Nodes } from "./nodes.ts";
import type { ResumableStream, StreamOwner } from "./resumable-stream.ts";

/** Two nodes may list different things, if their releases differ: how often their client may be notified of that. */
const RECHECK_MS = 10_000;
const NOTHING: readonly string[] = Object.freeze([]);

interface Begun {
  readonly ready: boolean;
  readonly stored: boolean;
  /** Aborted when the server takes no more work. */
  readonly closing: CancelSignal;
  /** Present if other nodes serve it too. */
  readonly nodes?: Nodes;
}

/**
 * One legacy client, from initialize on: its row, and what exists only while this process serves it. Very many sessions may be idle, so
 * everything that an idle one does not need is created on first use.
 */
export class Session implements StreamOwner {
  row: SessionRow;
  /** The time of its client's last request here. The row is updated less often, and by other nodes too. */
  seenAt: number;
  /** False until `notifications/initialized`: nothing is sent unrequested before it (C8). */
  ready: boolean;
  /** Its row is in the store, so its client can come back. */
  readonly stored: boolean;
  readonly revision: LegacyRevision;
  readonly can: readonly string[];
  readonly nodes: Nodes | undefined;
  /** Its row may have changed in the store. */
  stale = false;
  /** The standalone stream of an HTTP client, or the connection. */
  standalone: Channel | undefined;
  /** The caller whose limit of sessions it counts towards. */
  countedFor: string | undefined;
  /** It is no longer in this process. */
  closed = false;
  /** Settles when the lists that changes are compared with are known. */
  started: Promise<void> | undefined;
  #subscriptions: ClientNotifications | undefined;
  /** Requests to subscribe and unsubscribe. */
  #byUri: Queues<string> | undefined;
  #viewer: Viewer | undefined;
  #clientRequests: ClientRequests | undefined;
  #active: ActiveRequests | undefined;
  #streams: Map<string, ResumableStream> | undefined;
  /** It has begun in another process, and has no stream in this one yet. */
  #revived: boolean;
  #recheck: Throttle | undefined;
  readonly #notices: SessionNotices;
  readonly #settings: Settings;
  readonly #closing: CancelSignal;

  constructor(row: SessionRow, settings: Settings, notices: SessionNotices, how: Begun) {
    this.row = row;
    this.seenAt = settings.clock.now();
    this.ready = how.ready;
    this.stored = how.stored;
    this.nodes = how.nodes;
    this.#revived = how.stored && how.ready;
    this.revision = isLegacyRevision(row.protocol) ? row.protocol : LATEST_LEGACY;
    const can = canOf(row.capabilities, {
      elicitation: has(this.revision, "elicitation"),
      modes: has(this.revision, "elicitationModes"),
      samplingTools: has(this.revision, "samplingTools"),
    });
    this.can = can.length === 0 ? NOTHING : can;
    this.#notices = notices;
    this.#settings = settings;
    this.#closing = how.closing;
  }

  /** A name for actors, logs and observers, which must not know its id. */
  get name(): string {
    return sessionName(this.row.id);
  }

  /** For operators: without its id. */
  report(): SessionReport {
    const { principal, client, subscriptions, createdAt, seenAt } = this.row;
    return {
      name: this.name,
      client,
      revision: this.revision,
      ...omitUndefined({ principal }),
      startedAt: createdAt,
      seenAt: Math.max(seenAt, this.seenAt),
      streams: this.standalone === undefined ? 0 : 1,
      subscriptions,
    };
  }

  get source(): Source {
    return this.#notices.source;
  }

  get listMode(): ListMode {
    return this.#notices.listMode;
  }

  get clientRequests(): ClientRequests {
    return (this.#clientRequests ??= new ClientRequests(this.#settings, this.#closing));
  }

  get active(): ActiveRequests {
    return (this.#active ??= new ActiveRequests());
  }

  get busy(): boolean {
    return this.standalone !== undefined || (this.#active?.size ?? 0) > 0;
  }

  /** A reply that is an event stream and has not ended. */
  stream(name: string): ResumableStream | undefined {
    return this.#streams?.get(name);
  }

  addStream(stream: ResumableStream): void {
    this.#streams ??= new Map();
    this.#streams.set(stream.name, stream);
  }

  removeStream(stream: ResumableStream): void {
    this.#streams?.delete(stream.name);
  }

  /** `notifications/cancelled` aborts a request, which then gets no reply. False: no such request runs here. */
  handleNotification({ method, params }: Notification): boolean {
    if (method !== "notifications/cancelled") return true;
    const { requestId } = params;
    if (typeof requestId !== "string" && typeof requestId !== "number") return true;
    const active = this.active.get(requestId);
    active?.abort();
    return active !== undefined;
  }

  get logLevel(): LogLevel {
    const { logLevel } = this.row;
    return logLevel !== undefined && isLogLevel(logLevel) ? logLevel : "info";
  }

  /** The same object for as long as the caller's scopes and claims are the same, since sources cache by it. */
  viewerFor(caller: Caller): Viewer {
    const known = this.#viewer;
    if (known !== undefined && sameScopes(known.scopes, caller.scopes) && sameClaims(known.claims, caller.claims)) return known;
    this.#viewer = viewerOf(caller, caller.principal === undefined ? this.name : undefined);
    return this.#viewer;
  }

  subscriptionsFor(caller: Caller): ClientNotifications {
    return (this.#subscriptions ??= new ClientNotifications(this.#notices, this.viewerFor(caller)));
  }

  /** Runs the requests about one URI in the order in which they arrived: subscribing takes longer than unsubscribing. */
  inOrder<T>(uri: string, act: () => Promise<T>): Promise<T> {
    return (this.#byUri ??= new Queues()).run(uri, act);
  }

  /** Undefined until the client has seen a list or has a stream. */
  get subscriptions(): ClientNotifications | undefined {
    return this.#subscriptions;
  }

  /** Sends notifications on that channel from now on. `inner`: the channel behind it, which they are sent to directly. */
  async listen(channel: Channel, caller: Caller, inner = channel): Promise<void> {
    this.standalone = channel;
    const subscriptions = this.subscriptionsFor(caller);
    subscriptions.setViewer(this.viewerFor(caller));
    await this.#findUris(subscriptions, this.viewerFor(caller), this.#revived);
    const unknown = this.#revived && this.listMode === "dynamic" ? ALL_LISTS.filter((list) => !subscriptions.knowsList(list)) : [];
    this.#revived = false;
    await subscriptions.start(inner);
    if (this.#subscriptions !== subscriptions) return subscriptions.stop();
    // These lists were sent by a previous process and may be stale.
    for (const list of unknown) this.standalone?.send(this.#notices.listChanged(list));
  }

  streamEnded(stream: Channel, inner: Channel): void {
    if (this.standalone === stream) {
      this.standalone = undefined;
      this.seenAt = this.#settings.clock.now();
    }
    this.#subscriptions?.detach(inner);
  }

  // A row contains URIs only; the surface has their offers.
  async #findUris(subscriptions: ClientNotifications, viewer: Viewer, revived: boolean): Promise<void> {
    const missing = this.row.subscriptions.filter((uri) => !subscriptions.watches(uri));
    if (missing.length > 0) {
      const offers = indexOf((await this.source.surface(viewer)).catalogue);
      // It has ended meanwhile, or its stream is at another node: nothing would end these watches.
      if (this.closed || this.#subscriptions !== subscriptions) return;
      for (const uri of missing) {
        const target = offers.resource(uri);
        if (target === undefined) subscriptions.expect(uri);
        else subscriptions.subscribe(uri, target);
      }
    }
    // Another process had these subscriptions before this one began to watch: changes in between may have been missed.
    const doubted = revived ? this.row.subscriptions : missing;
    if (revived || this.nodes !== undefined) for (const uri of doubted) subscriptions.mayHaveChanged(uri);
  }

  /** Takes over the row as it is in the store. */
  adopt(row: SessionRow): void {
    const wanted = new Set(row.subscriptions);
    for (const uri of this.row.subscriptions) if (!wanted.has(uri)) this.#subscriptions?.unsubscribe(uri);
    this.row = { ...row, seenAt: Math.max(row.seenAt, this.row.seenAt) };
    if (this.listensElsewhere) return this.releaseStream();
    const [subscriptions, viewer] = [this.#subscriptions, this.#viewer];
    if (this.standalone === undefined || subscriptions === undefined || viewer === undefined) return;
    this.#findUris(subscriptions, viewer, false).catch((error: unknown) =>
      this.#settings.log("error", { event: "subscribe-failed", ...inLog(error) }),
    );
  }

  /** Another node has the standalone stream, or had it last. */
  get listensElsewhere(): boolean {
    const { listener } = this.row;
    return this.nodes !== undefined && listener !== undefined && listener !== this.nodes.self;
  }

  /** Its client may have missed what it was sent last: its next stream says so once, as after a restart. */
  doubtDelivery(): void {
    this.#revived = true;
    this.#subscriptions?.forgetLists();
    this.#subscriptions?.recheck();
  }

  /** Another node notifies the client from now on. */
  releaseStream(): void {
    this.#stopListening();
    this.#revived = true;
  }

  /** Another node has sent the client that list. */
  recordListElsewhere(list: Json | undefined, fingerprint: string): void {
    const known = EVERY_LIST.find((one) => one === list);
    if (known === undefined) return;
    if (this.#subscriptions === undefined) this.#revived = true;
    else if (!this.#subscriptions.recordListElsewhere(known, fingerprint)) this.#compare();
  }

  /** Hints of other nodes about it may have been lost. */
  markUncertain(): void {
    this.stale = true;
    this.#revived = true;
    if (this.#subscriptions === undefined) return;
    this.#subscriptions.forgetLists();
    this.#compare();
  }

  #compare(): void {
    this.#recheck ??= new Throttle(this.#settings.clock, RECHECK_MS, () => this.#subscriptions?.recheck());
    this.#recheck.request();
  }

  #stopListening(): void {
    this.#recheck?.stop();
    this.#recheck = undefined;
    this.#subscriptions?.stop();
    this.#subscriptions = undefined;
    this.standalone?.close();
    this.standalone = undefined;
  }

  /** Ends everything that waits for the client; calls go on otherwise. */
  close(): void {
    this.closed = true;
    this.#clientRequests?.close();
    for (const stream of this.#streams?.values() ?? []) stream.abandon();
    this.#stopListening();
  }
}

function sameScopes(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((scope, at) => scope === other[at]));
}

const ALL_LISTS = ["tools", "resources", "prompts"] as const;

// Shared, since there may be very many listeners.
const CHANGED: Readonly<Record<ListName, string>> = {
  tools: notificationText("notifications/tools/list_changed"),
  resources: notificationText("notifications/resources/list_changed"),
  prompts: notificationText("notifications/prompts/list_changed"),
};

/** The texts of notifications to the sessions of one source. Shared by all of them, which saves cache misses when very many are notified. */
export class SessionNotices implements SubscriptionHost {
  readonly source: Source;
  readonly listMode: ListMode;
  readonly wanted = ALL_LISTS;
  readonly log: Log;

  constructor(source: Source, { legacyListMode, log }: Settings) {
    this.source = source;
    this.listMode = legacyListMode;
    this.log = log;
  }

  listChanged(list: ListName): string {
    return CHANGED[list];
  }

  updated(uri: string): string {
    return notificationText("notifications/resources/updated", { uri });
  }
}
