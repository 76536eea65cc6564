// Owns: the requests and responses that each HTTP connection still waits for, and dropping a client that does not read its response.
// Does not own: what a request means (http-core.ts), how a response is written (http-bytes.ts), streams (write-queue.ts).
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../core/contract/index.ts";
import { UnreadBudget } from "./budgets.ts";
import { timeToRead } from "./write-queue.ts";

/** What one connection still waits for. */
export class ConnectionWork {
  /** Requests without a response, or whose response has not been sent. */
  answers = 0;
  /** Everything else that is in progress: streams, token checks, refused uploads. */
  background = 0;
  /** Callbacks that release each response on its way, and each refused upload, if the connection is lost. */
  releases: Set<() => void> | undefined;
  /** Runs when nothing is in progress any more. */
  whenIdle: (() => void) | undefined;

  get busy(): boolean {
    return this.answers + this.background > 0;
  }
}

/** Shared by all connections with nothing in progress but one stream: there may be very many, and the size of each counts. */
const ONE_STREAM = new ConnectionWork();
ONE_STREAM.background = 1;
Object.freeze(ONE_STREAM);

export interface PendingResponsesOptions {
  readonly clock: Clock;
  /** A client that takes longer than this to read a MiB of its response is dropped. */
  readonly blockedMs: number;
  /** Limit for unread responses, all clients together. */
  readonly unreadBytes: number;
  readonly onDrop: (reason: "blocked" | "unread") => void;
}

/** Tracks requests from their arrival until their responses have been read, per connection and in total (HTTP pipelining). */
export class PendingResponses {
  readonly #options: PendingResponsesOptions;
  readonly #unread: UnreadBudget;
  readonly #connections = new WeakMap<Socket, ConnectionWork>();
  /** Totals over all connections. */
  #answers = 0;
  #background = 0;
  #unreadResponses = 0;
  /** Each settles a promise if its condition holds, and says whether it did. */
  #waiters: (() => boolean)[] = [];

  constructor(options: PendingResponsesOptions) {
    this.#options = options;
    this.#unread = new UnreadBudget(options.unreadBytes, () => options.onDrop("unread"));
  }

  /** The same object for as long as the connection is busy. */
  of(socket: Socket): ConnectionWork {
    const known = this.#connections.get(socket);
    if (known !== undefined && known !== ONE_STREAM) return known;
    const work = new ConnectionWork();
    work.background = known?.background ?? 0;
    this.#connections.set(socket, work);
    return work;
  }

  busy(socket: Socket): boolean {
    return this.#connections.get(socket)?.busy === true;
  }

  /** A request will be answered. `written` or `streaming` ends that. */
  begin(work: ConnectionWork): void {
    work.answers += 1;
    this.#answers += 1;
  }

  /** The response was written. It stays pending until the client has read it. */
  written(work: ConnectionWork, response: ServerResponse): void {
    if (response.writableLength > 0 && !response.destroyed) return this.#awaitRead(work, response);
    if (response.destroyed) this.#releaseIfLost(work, response);
    this.#finish(work);
  }

  /** The request was answered by a stream, which goes on as background work. */
  streaming(socket: Socket, work: ConnectionWork): void {
    this.#finish(work);
    if (work.answers === 0 && work.background === 1 && work.whenIdle === undefined) this.#connections.set(socket, ONE_STREAM);
  }

  /** Other work is in progress until `endBackground`. */
  beginBackground(work: ConnectionWork): void {
    work.background += 1;
    this.#background += 1;
  }

  endBackground(work: ConnectionWork): void {
    work.background -= 1;
    this.#background -= 1;
    this.#ended(work);
  }

  /** Background work that lasts until the response is closed. */
  backgroundUntilClose(work: ConnectionWork, response: ServerResponse): void {
    const releases = (work.releases ??= new Set());
    const release = (): void => {
      if (releases.delete(release)) this.endBackground(work);
    };
    this.beginBackground(work);
    releases.add(release);
    response.once("close", release);
  }

  /** The connection has ended, and node:http does not say so to the responses on their way. */
  lost(socket: Socket): void {
    for (const release of this.#connections.get(socket)?.releases ?? []) release();
  }

  /** Runs it once nothing is in progress on this connection. Keeps one callback. */
  whenIdle(socket: Socket, run: () => void): void {
    const work = this.of(socket);
    if (work.busy) work.whenIdle = run;
    else run();
  }

  /** Settles when all requests have been answered. */
  answered(): Promise<void> {
    return this.#until(() => this.#answers === 0);
  }

  /** Settles when no response waits to be read. */
  read(): Promise<void> {
    return this.#until(() => this.#unreadResponses === 0);
  }

  /** Settles when nothing is in progress on any connection. */
  idle(): Promise<void> {
    return this.#until(() => this.#answers + this.#background === 0);
  }

  #until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((done) => {
      this.#waiters.push(() => {
        if (!holds()) return false;
        done();
        return true;
      });
    });
  }

  #awaitRead(work: ConnectionWork, response: ServerResponse): void {
    const { clock, blockedMs, onDrop } = this.#options;
    const releases = (work.releases ??= new Set());
    const { socket } = response.req;
    const bytes = response.writableLength;
    const limitMs = timeToRead(bytes, blockedMs);
    const release = (): void => {
      if (!releases.delete(release)) return;
      undo();
      this.#unread.take(socket, bytes);
      this.#unreadResponses -= 1;
      this.#releaseIfLost(work, response);
      this.#finish(work);
    };
    releases.add(release);
    this.#unreadResponses += 1;
    const onTimeout = (): void => {
      // Without a socket the response is queued behind another one, so the client could not have read it.
      if (response.socket === null && !socket.destroyed) return void (undo = clock.after(limitMs, onTimeout));
      onDrop("blocked");
      response.destroy();
      release();
    };
    let undo = clock.after(limitMs, onTimeout);
    response.once("close", release);
    this.#unread.add(socket, bytes);
  }

  // A response that is queued behind another one does not always get the event that its connection has closed.
  #releaseIfLost({ releases }: ConnectionWork, response: ServerResponse): void {
    if (releases === undefined || !response.req.socket.destroyed) return;
    for (const release of releases) release();
  }

  #finish(work: ConnectionWork): void {
    work.answers -= 1;
    this.#answers -= 1;
    this.#ended(work);
  }

  #ended(work: ConnectionWork): void {
    if (this.#waiters.length > 0) this.#waiters = this.#waiters.filter((settled) => !settled());
    if (work.whenIdle === undefined || work.busy) return;
    const { whenIdle } = work;
    work.whenIdle = undefined;
    whenIdle();
  }
}
