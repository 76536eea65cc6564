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
 * One client. Its commands are done one after the other and answered in their order, since nothing else tells which answer is
 * whose; what is pushed goes between answers at any time.
 */
export class Connection implements Client {
  readonly #socket: Socket;
  readonly #house: House;
  readonly #reader: WireReader;
  readonly #speech: Speech;
  readonly #outlet: Outlet;
  readonly #gone = new AbortController();
  readonly #queue: (Command | WireError)[] = [];
  /** Bytes that came while a command runs. */
  #ahead = 0;
  #running = false;
  #ending = false;
  /** Its last frame could not be read. */
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

  /** No command is taken any more; those that were are answered, then the connection ends. */
  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#undoFrame?.();
    this.#release();
    // Discarded, not left unread: unread bytes would reset the connection and lose the last answer.
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
      // Where the next command begins is lost.
      this.#queue.push(error instanceof WireError ? error : new WireError("This cannot be read."));
      this.#refused = true;
      this.end();
    }
    if (this.#running) this.#ahead += chunk.length;
    if (this.#isFull && !this.#ending) this.#socket.pause();
    this.#watchFrame(whole);
    if (!this.#running) void this.#run();
  }

  /** Enough waits for the command that runs: the rest waits at the client. */
  get #isFull(): boolean {
    return this.#queue.length >= this.#house.limits.waiting || this.#ahead >= MOST_AHEAD;
  }

  /** One timer for a frame that was begun, not one for each of its bytes; none while it is not read here. */
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
      // One read brings thousands of commands: others come between them, and that the client has gone ends them.
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

  /** What was opened here ends, even while a command runs on: a client that hung up cannot be told from one that only stopped talking. */
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
