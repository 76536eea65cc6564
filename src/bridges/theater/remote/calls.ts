import { StageError } from "../stage.ts";
import type { Command } from "../wire/index.ts";
import type { AnswerTo } from "./answers.ts";
import type { Dialer } from "./dialer.ts";
import type { SendOptions, Connection } from "./line.ts";
import { ConnectionError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { ConnectionPool } from "./pool.ts";
import { toStageError } from "./refusals.ts";

/** How often a read is sent, and how often a connection is tried before anything is written to it. */
const MAX_TRIES = 3;

const isBroken = (error: unknown): error is ConnectionError => error instanceof ConnectionError && (error.why === "ended" || error.why === "garbled");

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
  async read<C extends Command>(
    command: C,
    limitMs = this.#settings.limits.replyMs,
    tries = MAX_TRIES,
  ): Promise<AnswerTo<C["is"]> | undefined> {
    for (let sent = 1; ; sent += 1) {
      try {
        return await this.#commands.use((connection) => connection.send(command, { limitMs }));
      } catch (error) {
        if (isBroken(error) && sent < tries) continue;
        if (isBroken(error) && error.why === "ended") return undefined;
        throw toStageError(error, command.is, this.#settings);
      }
    }
  }

  /** Sent at most once. */
  async once<C extends Command>(command: C): Promise<AnswerTo<C["is"]>> {
    try {
      return await this.#sendOnce(command, this.#commands, { limitMs: this.#settings.limits.replyMs });
    } catch (error) {
      throw toStageError(error, command.is, this.#settings);
    }
  }

  /**
   * Sent at most once, on a connection that no other command waits for. Undefined if the server closed the connection instead of
   * answering.
   */
  async request(id: string, data: Uint8Array, signal: AbortSignal): Promise<AnswerTo<"RequestActorMessage"> | undefined> {
    const command = { is: "RequestActorMessage", id, data } as const;
    try {
      return await this.#sendOnce(command, this.#requests, { limitMs: this.#settings.limits.requestMs, signal });
    } catch (error) {
      if (error instanceof ConnectionError && error.why === "ended" && error.sent) return undefined;
      throw toStageError(error, command.is, this.#settings);
    }
  }

  async #sendOnce<C extends Command>(command: C, pool: ConnectionPool, options: SendOptions): Promise<AnswerTo<C["is"]>> {
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
      await connection.send({ is: "ListActors" }, { limitMs: limits.replyMs });
    } catch (error) {
      // A refusal is an answer.
      if (error instanceof ConnectionError) throw new ConnectionError(error.why, error.message, false);
    }
  }
}

/** The actor is not in the server's list. */
export const actorNotFound = (id: string, { server }: Settings): StageError =>
  new StageError("ActorNotFound", `There is no actor ${id.slice(0, 200)} at ${server}: list the actors to see who is there.`);
