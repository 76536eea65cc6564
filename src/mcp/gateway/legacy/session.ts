import { sha256Hex } from "../../../core/platform/index.ts";
import type { CancelSignal, Caller, Channel, Json, LogLevel, SessionRow, Source, Viewer } from "../../../core/contract/index.ts";
import type { Posture } from "../../source/index.ts";
import { isLogLevel } from "../aside.ts";
import { Audience, EVERY } from "../audience.ts";
import { viewerOf } from "../core.ts";
import { canOf } from "../envelope.ts";
import { inLog } from "../errors.ts";
import { indexOf } from "../offers.ts";
import type { Settings } from "../settings.ts";
import { has, isLegacyRevision, LATEST_LEGACY, type LegacyRevision } from "../revision.ts";
import { InFlight } from "../running.ts";
import { ClientRequests } from "./client-requests.ts";
import type { Nodes } from "./nodes.ts";
import type { StreamOwner } from "./open-stream.ts";
import { Paced } from "./paced.ts";
import type { ResumableStream } from "./resumable-stream.ts";
import { ALL_LISTS, type SessionNotices } from "./session-notices.ts";

/** Two nodes may see the same world as two lists, one of another release say: their client is told to compare no more often. */
const RECHECK_MS = 10_000;
const NOTHING: readonly string[] = Object.freeze([]);

interface Begun {
  readonly ready: boolean;
  readonly kept: boolean;
  /** The server takes no more work. */
  readonly closing: CancelSignal;
  /** Where other nodes serve it too. */
  readonly nodes?: Nodes;
}

/**
 * One legacy client, from initialize on: its row, and what lives only while this
 * process serves it. There may be very many that do nothing, so whatever a session
 * does not need while it is idle is made when it is needed.
 */
export class Session implements StreamOwner {
  row: SessionRow;
  /** When its client was last here. The row says so less often, and what others wrote there may be younger. */
  seenAt: number;
  /** False until `notifications/initialized`: before it nothing is told (C8). */
  ready: boolean;
  /** Its row is in the store: the client can come back. */
  readonly kept: boolean;
  readonly revision: LegacyRevision;
  readonly can: readonly string[];
  readonly nodes: Nodes | undefined;
  /** Its row may be another by now. */
  stale = false;
  /** The standalone stream of an HTTP client, or the connection. */
  standalone: Channel | undefined;
  /** Whose bound of sessions it counts for. */
  countedFor: string | undefined;
  /** This process holds it no longer. */
  closed = false;
  /** Settles when the lists a change would be compared with are known. */
  started: Promise<void> | undefined;
  #audience: Audience | undefined;
  #viewer: Viewer | undefined;
  #requests: ClientRequests | undefined;
  #running: InFlight | undefined;
  #streams: Map<string, ResumableStream> | undefined;
  /** Begun in another process, and not listened to in this one yet. */
  #revived: boolean;
  #recheck: Paced | undefined;
  readonly #notices: SessionNotices;
  readonly #settings: Settings;
  readonly #closing: CancelSignal;

  constructor(row: SessionRow, settings: Settings, notices: SessionNotices, how: Begun) {
    this.row = row;
    this.seenAt = settings.clock.now();
    this.ready = how.ready;
    this.kept = how.kept;
    this.nodes = how.nodes;
    this.#revived = how.kept && how.ready;
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

  /** For whoever may not know its id. */
  get name(): string {
    return standIn(this.row.id);
  }

  get source(): Source {
    return this.#notices.source;
  }

  get posture(): Posture {
    return this.#notices.posture;
  }

  /** What the client is asked, and who waits for its answers. */
  get requests(): ClientRequests {
    this.#requests ??= new ClientRequests(this.#settings, this.#closing);
    return this.#requests;
  }

  /** What runs for this client. */
  get running(): InFlight {
    return (this.#running ??= new InFlight());
  }

  get busy(): boolean {
    return this.standalone !== undefined || (this.#running?.size ?? 0) > 0;
  }

  /** A reply that is an event stream and has not ended. */
  stream(name: string): ResumableStream | undefined {
    return this.#streams?.get(name);
  }

  keepStream(stream: ResumableStream): void {
    this.#streams ??= new Map();
    this.#streams.set(stream.name, stream);
  }

  dropStream(stream: ResumableStream): void {
    this.#streams?.delete(stream.name);
  }

  get logLevel(): LogLevel {
    const { logLevel } = this.row;
    return logLevel !== undefined && isLogLevel(logLevel) ? logLevel : "info";
  }

  /** The same object while the caller's scopes are the same: sources may hang things on it. */
  viewerFor(caller: Caller): Viewer {
    const known = this.#viewer;
    if (known !== undefined && sameScopes(known.scopes, caller.scopes)) return known;
    this.#viewer = viewerOf(caller, caller.principal === undefined ? this.name : undefined);
    return this.#viewer;
  }

  /** What this client was shown and is to be told; made when it is first needed. */
  audience(caller: Caller): Audience {
    this.#audience ??= new Audience(this.#notices, this.viewerFor(caller));
    return this.#audience;
  }

  /** Undefined until the client was shown a list or can be told. */
  get told(): Audience | undefined {
    return this.#audience;
  }

  /** From now on the client is told on that channel. `way`: the one behind it, which notices take at once. */
  async listen(channel: Channel, caller: Caller, way = channel): Promise<void> {
    this.standalone = channel;
    const audience = this.audience(caller);
    audience.as(this.viewerFor(caller));
    await this.#findUris(audience, this.viewerFor(caller), this.#revived);
    const unknown = this.#revived && this.posture === "dynamic" ? ALL_LISTS.filter((list) => !audience.knows(list)) : [];
    this.#revived = false;
    await audience.start(way);
    if (this.#audience !== audience) return audience.stop();
    // Shown by a process that is no more: whether it still holds nobody can say, so the client is told to ask.
    for (const list of unknown) this.standalone?.send(this.#notices.listChanged(list));
  }

  left(stream: Channel, way: Channel): void {
    if (this.standalone === stream) {
      this.standalone = undefined;
      this.seenAt = this.#settings.clock.now();
    }
    this.#audience?.detach(way);
  }

  // A row that outlived its process knows URIs only: whose offers they are, the surface says.
  async #findUris(audience: Audience, viewer: Viewer, revived: boolean): Promise<void> {
    const missing = this.row.subscriptions.filter((uri) => !audience.has(uri));
    if (missing.length > 0) {
      const offers = indexOf((await this.source.surface(viewer)).catalogue);
      for (const uri of missing) {
        const target = offers.resource(uri);
        if (target !== undefined) audience.subscribe(uri, target);
      }
    }
    // Another process, or another node, knew of them before this one watched: what changed in between was told to nobody.
    const doubted = revived ? this.row.subscriptions : missing;
    if (revived || this.nodes !== undefined) for (const uri of doubted) audience.missed(uri);
  }

  /** The row as it is in the store. */
  adopt(row: SessionRow): void {
    const wanted = new Set(row.subscriptions);
    for (const uri of this.row.subscriptions) if (!wanted.has(uri)) this.#audience?.unsubscribe(uri);
    this.row = { ...row, seenAt: Math.max(row.seenAt, this.row.seenAt) };
    if (this.listensElsewhere) return this.letGo();
    const [audience, viewer] = [this.#audience, this.#viewer];
    if (this.standalone === undefined || audience === undefined || viewer === undefined) return;
    this.#findUris(audience, viewer, false).catch((error: unknown) =>
      this.#settings.log("error", { event: "subscribe-failed", ...inLog(error) }),
    );
  }

  /** Another node has the standalone stream, or had it last. */
  get listensElsewhere(): boolean {
    const { listener } = this.row;
    return this.nodes !== undefined && listener !== undefined && listener !== this.nodes.self;
  }

  /** Another node tells the client from now on. */
  letGo(): void {
    this.#forget();
    this.#revived = true;
  }

  /** Another node gave the client that list. */
  shownElsewhere(list: Json | undefined, fingerprint: string): void {
    const known = EVERY.find((one) => one === list);
    if (known === undefined) return;
    if (this.#audience === undefined) this.#revived = true;
    else if (!this.#audience.sawElsewhere(known, fingerprint)) this.#compare();
  }

  /** What others have done to it may have gone unheard. */
  doubt(): void {
    this.stale = true;
    this.#revived = true;
    if (this.#audience === undefined) return;
    this.#audience.doubt();
    this.#compare();
  }

  #compare(): void {
    this.#recheck ??= new Paced(this.#settings.clock, RECHECK_MS, () => this.#audience?.recheck());
    this.#recheck.want();
  }

  #forget(): void {
    this.#recheck?.stop();
    this.#recheck = undefined;
    this.#audience?.stop();
    this.#audience = undefined;
    this.standalone?.close();
    this.standalone = undefined;
  }

  /** Waits of this session end; calls go on where their work does not wait for the client. */
  close(): void {
    this.closed = true;
    this.#requests?.close();
    for (const stream of this.#streams?.values() ?? []) stream.abandon();
    this.#forget();
  }
}

// The id is a secret of the client's; what stands for it in actors and chains is not.
function standIn(id: string): string {
  return `session|${sha256Hex(id).slice(0, 32)}`;
}

function sameScopes(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((scope, at) => scope === other[at]));
}
