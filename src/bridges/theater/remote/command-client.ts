// Owns: commands on pooled connections, and which may be repeated. Does not own: connecting (dialer.ts).
import type { Clock } from "../../../core/contract/index.ts";
import { StageError } from "../stage.ts";
import type { Command } from "../wire/commands.ts";
import type { AnswerTo, Connection, SendOptions } from "./connection.ts";
import type { Dialer } from "./dialer.ts";
import { ConnectionError, toStageError } from "./errors.ts";
import type { Settings } from "./options.ts";

/** A semaphore with a bounded queue and a bounded wait. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #maxWaiting: number;
  readonly #clock: Clock;

  constructor(count: number, waiting: number, clock: Clock) {
    this.#free = count;
    this.#maxWaiting = waiting;
    this.#clock = clock;
  }

  /** False if too many wait, or the wait took too long. */
  async acquire(limitMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    if (this.#waiting.length >= this.#maxWaiting) return false;
    return await new Promise((resolve) => {
      const proceed = (): void => {
        undo();
        resolve(true);
      };
      const undo = this.#clock.after(limitMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1);
        resolve(false);
      });
      this.#waiting.push(proceed);
    });
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

interface Idle {
  readonly connection: Connection;
  readonly undo: () => void;
}

/** Connections for one command at a time each. Idle ones are closed. */
class ConnectionPool {
  readonly #settings: Settings;
  readonly #dialer: Dialer;
  readonly #slots: Semaphore;
  readonly #idle: Idle[] = [];

  constructor(settings: Settings, dialer: Dialer, size: number) {
    this.#settings = settings;
    this.#dialer = dialer;
    this.#slots = new Semaphore(size, settings.limits.waiting, settings.clock);
  }

  /** Throws `CommunicationError` and `Timeout`, and what `run` throws. */
  async use<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    const { limits, server } = this.#settings;
    if (!(await this.#slots.acquire(limits.replyMs))) {
      throw new StageError("Timeout", `All connections to ${server} are busy: wait for what is under way, then try again.`);
    }
    try {
      const connection = this.#pop() ?? (await this.#dialer.dial({ push: () => undefined, ended: () => this.#sweep() }));
      try {
        return await run(connection);
      } finally {
        if (!connection.isClosed) this.#push(connection);
      }
    } finally {
      this.#slots.release();
    }
  }

  /** The most recently used one, so that the others may become idle enough to be closed. */
  #pop(): Connection | undefined {
    const last = this.#idle.pop();
    last?.undo();
    return last?.connection;
  }

  #push(connection: Connection): void {
    const { clock, limits } = this.#settings;
    this.#idle.push({ connection, undo: clock.after(limits.idleMs, () => connection.close()) });
  }

  #sweep(): void {
    for (let at = this.#idle.length - 1; at >= 0; at -= 1) {
      if (this.#idle[at]?.connection.isClosed !== true) continue;
      this.#idle[at]?.undo();
      this.#idle.splice(at, 1);
    }
  }
}

/** How often a read is sent, and how often a connection is tried before anything is written to it. */
const MAX_TRIES = 3;

const isBroken = (error: unknown): error is ConnectionError =>
  error instanceof ConnectionError && (error.why === "ended" || error.why === "garbled");

/** Sends commands. Reads are repeated after a broken connection; other commands never are. Throws `StageError`. */
export class CommandClient {
  readonly #settings: Settings;
  readonly #commands: ConnectionPool;
  readonly #requests: ConnectionPool;

  constructor(settings: Settings, dialer: Dialer) {
    this.#settings = settings;
    this.#commands = new ConnectionPool(settings, dialer, settings.limits.connections);
    this.#requests = new ConnectionPool(settings, dialer, settings.limits.requests);
  }

  /** Undefined if the server closed the connection instead of answering, each time. */
  async read<C extends Command>(command: C, limitMs?: number, tries = MAX_TRIES): Promise<AnswerTo<C["type"]> | undefined> {
    for (let sent = 1; ; sent += 1) {
      try {
        return await this.#commands.use((connection) => connection.send(command, { limitMs }));
      } catch (error) {
        if (isBroken(error) && sent < tries) continue;
        if (isBroken(error) && error.why === "ended") return undefined;
        throw toStageError(error, command.type, this.#settings);
      }
    }
  }

  /** Sent at most once. */
  async once<C extends Command>(command: C): Promise<AnswerTo<C["type"]>> {
    try {
      return await this.#sendOnce(command, this.#commands);
    } catch (error) {
      throw toStageError(error, command.type, this.#settings);
    }
  }

  /**
   * Sent at most once, on a connection that no other command waits for. Undefined if the server closed the connection instead of
   * answering.
   */
  async request(id: string, data: Uint8Array, signal: AbortSignal): Promise<AnswerTo<"RequestActorMessage"> | undefined> {
    const command = { type: "RequestActorMessage", id, data } as const;
    try {
      return await this.#sendOnce(command, this.#requests, { limitMs: this.#settings.limits.requestMs, signal });
    } catch (error) {
      if (error instanceof ConnectionError && error.why === "ended" && error.sent) return undefined;
      throw toStageError(error, command.type, this.#settings);
    }
  }

  async #sendOnce<C extends Command>(command: C, pool: ConnectionPool, options?: SendOptions): Promise<AnswerTo<C["type"]>> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await pool.use(async (connection) => {
          await this.#verify(connection);
          return await connection.send(command, options);
        });
      } catch (error) {
        // What was not written cannot have been executed.
        if (!isBroken(error) || error.sent || tries >= MAX_TRIES) throw error;
      }
    }
  }

  /** Tests an idle connection first: the server may have closed it, and the command cannot be sent twice. */
  async #verify(connection: Connection): Promise<void> {
    const { clock, limits } = this.#settings;
    if (connection.lastResponseAt !== undefined && clock.now() - connection.lastResponseAt < limits.freshMs) return;
    try {
      await connection.send({ type: "ListActors" });
    } catch (error) {
      // A refusal is an answer.
      if (error instanceof ConnectionError) throw new ConnectionError(error.why, error.message, false);
    }
  }
}
