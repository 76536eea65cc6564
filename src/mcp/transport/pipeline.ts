import type { Clock } from "../../core/contract/index.ts";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Unread } from "./budgets.ts";

const MOST = 64;
const LONGEST_MS = 1;

/**
 * What comes in one round of the event loop is done together at its end: requests are taken up once no more are being read, and
 * what is to be written is written once none is being answered. Each write by itself wakes its reader, who is asleep again before
 * the next, and code that runs by turns with other code finds the processor's caches full of that. Not more than so many wait for
 * each other, nor longer than so: what is known when a long turn begins waits for that one turn, and for none behind it.
 */
export class RoundBatch<T> {
  readonly #clock: Clock;
  readonly #each: (one: T) => void;
  readonly #after: (() => void) | undefined;
  #waiting: T[] = [];
  #since = 0;
  #due: NodeJS.Immediate | undefined;

  /** `after` runs whenever all that waited has been done. */
  constructor(clock: Clock, each: (one: T) => void, after?: () => void) {
    this.#clock = clock;
    this.#each = each;
    this.#after = after;
  }

  add(one: T): void {
    const waiting = this.#waiting.push(one);
    if (waiting === 1) this.#since = this.#clock.now();
    else if (waiting === MOST || this.#clock.now() - this.#since > LONGEST_MS) return this.flush();
    this.#due ??= setImmediate(this.#end);
  }

  /** More has come to one that waits already. */
  grown(): void {
    if (this.#clock.now() - this.#since > LONGEST_MS) this.flush();
  }

  readonly #end = (): void => {
    this.#due = undefined;
    this.flush();
  };

  /** Does what waits. */
  flush(): void {
    // A round that nothing is left for would keep the event loop from its sleep once more.
    clearImmediate(this.#due);
    this.#due = undefined;
    const all = this.#waiting;
    this.#waiting = [];
    let done = 0;
    try {
      for (const one of all) {
        done += 1;
        this.#each(one);
      }
      this.#after?.();
    } finally {
      // What one throws is no matter of those behind it, who still come before all that came since.
      if (done < all.length) {
        this.#waiting = [...all.slice(done), ...this.#waiting];
        this.#due ??= setImmediate(this.#end);
      }
    }
  }
}

/** What one connection is owed. */
export class Due {
  /** Requests whose answers are being worked out, or are on their way. */
  answers = 0;
  /** What goes on beside them: streams, looks at a token, refused uploads. */
  lasting = 0;
  /** Ends each answer that is on its way, and each refused upload. */
  leaving: Set<() => void> | undefined;
  /** What comes behind all that. */
  next: (() => void) | undefined;

  get any(): boolean {
    return this.answers + this.lasting > 0;
  }
}

/** Of a connection that is owed nothing but the rest of a stream: there may be very many, and what each holds counts. */
const STREAM = new Due();
STREAM.lasting = 1;
Object.freeze(STREAM);

export interface OwedOptions {
  readonly clock: Clock;
  /** A client that has not taken its answer after this time is dropped. */
  readonly blockedMs: number;
  /** What may wait to be read, of all clients. */
  readonly unreadBytes: number;
  readonly onDrop: (reason: "blocked" | "unread") => void;
}

/** What connections are owed: an answer may be worked out, wait behind others, and wait for its client to read. */
export class Owed {
  readonly #options: OwedOptions;
  readonly #unread: Unread;
  readonly #dues = new WeakMap<Socket, Due>();
  /** Each as it is of all connections together. */
  #answers = 0;
  #lasting = 0;
  #leaving = 0;
  #waiting: (() => boolean)[] = [];

  constructor(options: OwedOptions) {
    this.#options = options;
    this.#unread = new Unread(options.unreadBytes, () => options.onDrop("unread"));
  }

  /** The same object for as long as it is owed anything. */
  of(socket: Socket): Due {
    const known = this.#dues.get(socket);
    if (known !== undefined && known !== STREAM) return known;
    const due = new Due();
    due.lasting = known?.lasting ?? 0;
    this.#dues.set(socket, due);
    return due;
  }

  busy(socket: Socket): boolean {
    return this.#dues.get(socket)?.any === true;
  }

  /** A request will be answered: `written` or `given` ends that. */
  begin(due: Due): void {
    due.answers += 1;
    this.#answers += 1;
  }

  /** Its answer was written, and is owed until its client has taken it. */
  written(due: Due, response: ServerResponse): void {
    if (response.writableLength > 0 && !response.destroyed) return this.#leave(due, response);
    if (response.destroyed) this.#lost(due, response);
    this.given(due);
  }

  /** Nothing more comes for it. */
  given(due: Due): void {
    due.answers -= 1;
    this.#answers -= 1;
    this.#ended(due);
  }

  /** Something goes on beside answers: `ends` is its end. */
  lasts(due: Due): void {
    due.lasting += 1;
    this.#lasting += 1;
  }

  /** A stream's request has been answered. */
  streams(socket: Socket, due: Due): void {
    this.given(due);
    if (due.answers === 0 && due.lasting === 1 && due.next === undefined) this.#dues.set(socket, STREAM);
  }

  /** `lasts`, until that response is over. */
  lastsWith(due: Due, response: ServerResponse): void {
    const leaving = (due.leaving ??= new Set());
    const over = (): void => {
      if (leaving.delete(over)) this.ends(due);
    };
    this.lasts(due);
    leaving.add(over);
    response.once("close", over);
  }

  ends(due: Due): void {
    due.lasting -= 1;
    this.#lasting -= 1;
    this.#ended(due);
  }

  /** The connection has ended, and nobody else says so of what is on its way there. */
  gone(socket: Socket): void {
    for (const over of this.#dues.get(socket)?.leaving ?? []) over();
  }

  /** Runs it once nothing is owed on this connection; one at a time. */
  behind(socket: Socket, run: () => void): void {
    const due = this.of(socket);
    if (due.any) due.next = run;
    else run();
  }

  /** Settles when all requests have been answered. */
  idle(): Promise<void> {
    return this.#until(() => this.#answers === 0);
  }

  /** Settles when no answer is on its way. */
  left(): Promise<void> {
    return this.#until(() => this.#leaving === 0);
  }

  /** Settles when nothing is owed to anybody. */
  quiet(): Promise<void> {
    return this.#until(() => this.#answers + this.#lasting === 0);
  }

  #until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((done) => {
      this.#waiting.push(() => {
        if (!holds()) return false;
        done();
        return true;
      });
    });
  }

  #leave(due: Due, response: ServerResponse): void {
    const { clock, blockedMs, onDrop } = this.#options;
    const leaving = (due.leaving ??= new Set());
    const { socket } = response.req;
    const bytes = response.writableLength;
    const taken = (): void => {
      if (!leaving.delete(taken)) return;
      undo();
      this.#unread.take(socket, bytes);
      this.#leaving -= 1;
      this.#lost(due, response);
      this.given(due);
    };
    leaving.add(taken);
    this.#leaving += 1;
    const late = (): void => {
      // It waits behind another answer, and not for its client.
      if (response.socket === null && !socket.destroyed) return void (undo = clock.after(blockedMs, late));
      onDrop("blocked");
      response.destroy();
      taken();
    };
    let undo = clock.after(blockedMs, late);
    response.once("close", taken);
    this.#unread.add(socket, bytes);
  }

  // Of a response that waits behind another node:http does not always say that its connection has ended.
  #lost({ leaving }: Due, response: ServerResponse): void {
    if (leaving === undefined || !response.req.socket.destroyed) return;
    for (const over of leaving) over();
  }

  #ended(due: Due): void {
    if (this.#waiting.length > 0) this.#waiting = this.#waiting.filter((settled) => !settled());
    if (due.next === undefined || due.any) return;
    const { next } = due;
    due.next = undefined;
    next();
  }
}
