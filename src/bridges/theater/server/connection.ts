import type { Socket } from "node:net";
import { endRefused } from "../../../mcp/transport/listen.ts";
import { type Command, type Push, WireError, WireReader } from "../wire/index.ts";
import { type Answered, answerTo } from "./answer.ts";
import type { Client } from "./client.ts";
import type { House } from "./house.ts";
import { nextTurn } from "./next-turn.ts";
import { Outlet } from "./outlet.ts";
import { commandIn, Speech } from "./speech.ts";
import { faultOf } from "./stage-fault.ts";

const MOST_AHEAD = 8 * 1_048_576;

/**
 * One client connection. Commands run one at a time and are answered in order, since answers do not name their command. Pushes may be
 * sent between any two answers.
 */
export class Connection implements Client {
  readonly #socket: Socket;
  readonly #house: House;
  readonly #reader: WireReader;
  readonly #speech: Speech;
  readonly #outlet: Outlet;
  readonly #gone = new AbortController();
  readonly #queue: (Command | WireError)[] = [];
  /** Bytes received while a command was running. */
  #ahead = 0;
  #running = false;
  #ending = false;
  /** The last frame was invalid. */
  #refused = false;
  #undoFrame: (() => void) | undefined;
  #undoEnd: (() => void) | undefined;

  constructor(socket: Socket, house: House) {
    const { limits, clock, log } = house;
    this.#socket = socket;
    this.#house = house;
    this.#reader = new WireReader(limits, clock);
    this.#speech = new Speech(this.#reader, limits);
    this.#outlet = new Outlet(socket, limits, clock, (reason) =>
      log?.("warning", { event: "client-dropped", transport: "theater", reason }),
    );
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", () => {});
    socket.once("end", () => this.end());
    socket.once("close", () => this.#leave());
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  push(push: Push): void {
    if (this.#gone.signal.aborted) return;
    const frames = this.#speech.frames(push);
    if (frames === undefined) this.#house.log?.("warning", { event: "push-too-long", transport: "theater", is: push.is });
    else this.#outlet.push(frames);
  }

  drop(reason: string): void {
    this.#house.log?.("warning", { event: "client-dropped", transport: "theater", reason });
    this.#socket.destroy();
  }

  /** Accepts no more commands. Those already received are answered, then the connection ends. */
  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#undoFrame?.();
    this.#release();
    // Discard unread bytes: they would reset the connection and lose the last answer.
    this.#socket.resume();
    if (!this.#running && this.#queue.length === 0) this.#finish();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(chunk: Uint8Array): void {
    if (this.#ending) return;
    let whole = false;
    try {
      this.#reader.push(chunk, (message) => {
        whole = true;
        this.#queue.push(commandIn(message));
      });
    } catch (error) {
      // The start of the next command cannot be found.
      this.#queue.push(error instanceof WireError ? error : new WireError("This cannot be read."));
      this.#refused = true;
      this.end();
    }
    if (this.#running) this.#ahead += chunk.length;
    if (this.#isFull && !this.#ending) this.#socket.pause();
    this.#watchFrame(whole);
    if (!this.#running) void this.#run();
  }

  /** Enough commands are queued; the rest waits at the client. */
  get #isFull(): boolean {
    return this.#queue.length >= this.#house.limits.waiting || this.#ahead >= MOST_AHEAD;
  }

  /** One timer per frame rather than per chunk, and none while the socket is paused. */
  #watchFrame(whole: boolean): void {
    const { clock, limits } = this.#house;
    const paused = this.#socket.isPaused();
    if (whole || paused || !this.#reader.pending) {
      this.#undoFrame?.();
      this.#undoFrame = undefined;
    }
    if (this.#reader.pending && !paused && !this.#ending) this.#undoFrame ??= clock.after(limits.frameMs, () => this.drop("frame-slow"));
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const { answer, announced } = await this.#answer(next);
      if (this.#gone.signal.aborted) break;
      this.#outlet.answer(this.#speech.answer(answer));
      announced?.();
      await this.#outlet.drained();
      if (this.#queue.length === 0) this.#ahead = 0;
      if (!this.#isFull) this.#readOn();
      // One read may bring thousands of commands. Yield, so that other connections are served and a disconnect is noticed.
      if (this.#queue.length > 0) await nextTurn();
    }
    this.#running = false;
    if (this.#ending) this.#finish();
  }

  #readOn(): void {
    if (!this.#socket.isPaused()) return;
    this.#socket.resume();
    this.#watchFrame(false);
  }

  async #answer(next: Command | WireError): Promise<Answered> {
    try {
      if (next instanceof WireError) throw next;
      return await answerTo(next, this, this.#house);
    } catch (error) {
      return { answer: { is: "Error", fault: faultOf(error, this.#house.log) } };
    }
  }

  #finish(): void {
    this.#gone.abort();
    this.#release();
    if (this.#refused) return endRefused(this.#socket, this.#house.clock);
    this.#socket.end();
    // A client that leaves its side open would hold the socket.
    this.#undoEnd ??= this.#house.clock.after(this.#house.limits.blockedMs, () => this.#socket.destroy());
  }

  /** Ends subscriptions and channels even while a command runs: a client that half-closed looks the same as one that hung up. */
  #release(): void {
    this.#house.subscriptions.leave(this);
    void this.#house.channels.leave(this);
  }

  #leave(): void {
    this.#ending = true;
    this.#undoFrame?.();
    this.#undoEnd?.();
    this.#queue.length = 0;
    this.#gone.abort();
    this.#reader.close();
    this.#release();
    this.#outlet.end();
  }
}
