import { sha256Hex } from "../../platform/index.ts";
import type { Bag, CancelSignal, Caller, Channel, ListName, Log, LogLevel, SessionRow, Source, Viewer } from "../../contract/index.ts";
import type { Posture } from "../../source/index.ts";
import { isLogLevel } from "../aside.ts";
import { Audience, type AudienceHost } from "../audience.ts";
import { viewerOf } from "../core.ts";
import { canOf } from "../envelope.ts";
import { notificationText } from "../json-rpc.ts";
import { indexOf } from "../offers.ts";
import type { Settings } from "../options.ts";
import { has, isLegacyRevision, LATEST_LEGACY, type LegacyRevision } from "../revision.ts";
import { InFlight } from "../running.ts";
import { ClientRequests } from "./client-requests.ts";
import type { ResumableStream } from "./resumable-stream.ts";

const ALL_LISTS = ["tools", "resources", "prompts"] as const;
const NOTHING: readonly string[] = Object.freeze([]);

interface Begun {
  readonly ready: boolean;
  readonly kept: boolean;
  /** The server takes no more work. */
  readonly closing: CancelSignal;
}

/**
 * One legacy client, from initialize on: its row, and what lives only while this
 * process serves it. There may be very many that do nothing, so whatever a session
 * does not need while it is idle is made when it is needed.
 */
export class Session implements AudienceHost {
  row: SessionRow;
  /** False until `notifications/initialized`: before it nothing is told (C8). */
  ready: boolean;
  /** Its row is in the store: the client can come back. */
  readonly kept: boolean;
  readonly source: Source;
  readonly revision: LegacyRevision;
  readonly can: readonly string[];
  /** The standalone stream of an HTTP client, or the connection. */
  standalone: Channel | undefined;
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
  readonly #settings: Settings;
  readonly #closing: CancelSignal;

  constructor(row: SessionRow, settings: Settings, source: Source, how: Begun) {
    this.row = row;
    this.ready = how.ready;
    this.kept = how.kept;
    this.#revived = how.kept && how.ready;
    this.source = source;
    this.revision = isLegacyRevision(row.protocol) ? row.protocol : LATEST_LEGACY;
    const can = canOf(row.capabilities, {
      elicitation: has(this.revision, "elicitation"),
      modes: has(this.revision, "elicitationModes"),
      samplingTools: has(this.revision, "samplingTools"),
    });
    this.can = can.length === 0 ? NOTHING : can;
    this.#settings = settings;
    this.#closing = how.closing;
  }

  get wanted(): typeof ALL_LISTS {
    return ALL_LISTS;
  }

  get posture(): Posture {
    return this.#settings.legacyPosture;
  }

  get log(): Log {
    return this.#settings.log;
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
    return isLogLevel(this.row.logLevel) ? this.row.logLevel : "info";
  }

  /** The same object while the caller's scopes are the same: sources may hang things on it. */
  viewerFor(caller: Caller): Viewer {
    const known = this.#viewer;
    if (known !== undefined && sameScopes(known.scopes, caller.scopes)) return known;
    this.#viewer = viewerOf(caller, caller.principal === undefined ? standIn(this.row.id) : undefined);
    return this.#viewer;
  }

  /** What this client was shown and is to be told; made when it is first needed. */
  audience(caller: Caller): Audience {
    this.#audience ??= new Audience(this, this.viewerFor(caller));
    return this.#audience;
  }

  listChanged(list: ListName): void {
    this.#tell(`notifications/${list}/list_changed`);
  }

  updated(uri: string): void {
    this.#tell("notifications/resources/updated", { uri });
  }

  /** Undefined until the client was shown a list or can be told. */
  get told(): Audience | undefined {
    return this.#audience;
  }

  /** From now on the client is told on that channel. */
  async listen(channel: Channel, caller: Caller): Promise<void> {
    this.standalone = channel;
    await this.#findUris(caller);
    const audience = this.audience(caller);
    const unknown = this.#revived && this.posture === "dynamic" ? ALL_LISTS.filter((list) => !audience.knows(list)) : [];
    this.#revived = false;
    await audience.start(channel);
    // Shown by a process that is no more: whether it still holds nobody can say, so the client is told to ask.
    for (const list of unknown) this.listChanged(list);
  }

  #tell(method: string, params?: Bag): void {
    this.standalone?.send(notificationText(method, params));
  }

  // A row that outlived its process knows URIs only: whose offers they are, the surface says.
  async #findUris(caller: Caller): Promise<void> {
    const audience = this.audience(caller);
    const missing = this.row.subscriptions.filter((uri) => !audience.has(uri));
    if (missing.length === 0) return;
    const offers = indexOf((await this.source.surface(this.viewerFor(caller))).catalogue);
    for (const uri of missing) {
      const target = offers.resource(uri);
      if (target !== undefined) audience.subscribe(uri, target);
    }
  }

  /** Waits of this session end; calls go on where their work does not wait for the client. */
  close(): void {
    this.closed = true;
    this.#requests?.close();
    for (const stream of this.#streams?.values() ?? []) stream.abandon();
    this.#audience?.stop();
    this.#audience = undefined;
    this.standalone?.close();
    this.standalone = undefined;
  }
}

// The id is a secret of the client's; what stands for it in actors and chains is not.
function standIn(id: string): string {
  return `session|${sha256Hex(id).slice(0, 32)}`;
}

function sameScopes(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((scope, at) => scope === other[at]));
}
