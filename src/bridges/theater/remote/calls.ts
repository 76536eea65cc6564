import { StageError } from "../stage.ts";
import type { Command } from "../wire/index.ts";
import type { AnswerTo } from "./answers.ts";
import type { Dialer } from "./dialer.ts";
import type { AskOptions, Line } from "./line.ts";
import { LineError } from "./line-error.ts";
import type { Settings } from "./options.ts";
import { Pool } from "./pool.ts";
import { asStageError } from "./refusals.ts";

/** How often a read is sent, and how often a connection is tried before anything is written to it. */
const TRIES = 3;

const isBroken = (error: unknown): error is LineError => error instanceof LineError && (error.why === "ended" || error.why === "garbled");

/** Sends commands. Reads are repeated after a broken connection; other commands never are. Throws `StageError`. */
export class Calls {
  readonly #settings: Settings;
  readonly #quick: Pool;
  readonly #requests: Pool;

  constructor(settings: Settings, dialer: Dialer) {
    this.#settings = settings;
    this.#quick = new Pool(settings, dialer, settings.limits.connections);
    this.#requests = new Pool(settings, dialer, settings.limits.requests);
  }

  /** Undefined if the server closed the connection instead of answering, each time. */
  async read<C extends Command>(
    command: C,
    limitMs = this.#settings.limits.replyMs,
    tries = TRIES,
  ): Promise<AnswerTo<C["is"]> | undefined> {
    for (let sent = 1; ; sent += 1) {
      try {
        return await this.#quick.use((line) => line.ask(command, { limitMs }));
      } catch (error) {
        if (isBroken(error) && sent < tries) continue;
        if (isBroken(error) && error.why === "ended") return undefined;
        throw asStageError(error, command.is, this.#settings);
      }
    }
  }

  /** Sent at most once. */
  async once<C extends Command>(command: C): Promise<AnswerTo<C["is"]>> {
    try {
      return await this.#written(command, this.#quick, { limitMs: this.#settings.limits.replyMs });
    } catch (error) {
      throw asStageError(error, command.is, this.#settings);
    }
  }

  /**
   * Sent at most once, on a connection that no other command waits for. Undefined if the server closed the connection instead of
   * answering.
   */
  async request(id: string, data: Uint8Array, signal: AbortSignal): Promise<AnswerTo<"RequestActorMessage"> | undefined> {
    const command = { is: "RequestActorMessage", id, data } as const;
    try {
      return await this.#written(command, this.#requests, { limitMs: this.#settings.limits.requestMs, signal });
    } catch (error) {
      if (error instanceof LineError && error.why === "ended" && error.sent) return undefined;
      throw asStageError(error, command.is, this.#settings);
    }
  }

  async #written<C extends Command>(command: C, pool: Pool, options: AskOptions): Promise<AnswerTo<C["is"]>> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await pool.use(async (line) => {
          await this.#prove(line);
          return await line.ask(command, options);
        });
      } catch (error) {
        // What was not written cannot have been executed.
        if (!isBroken(error) || error.sent || tries >= TRIES) throw error;
      }
    }
  }

  /** Tests an idle connection first: the server may have closed it, and the command cannot be sent twice. */
  async #prove(line: Line): Promise<void> {
    const { clock, limits } = this.#settings;
    if (line.heardAt !== undefined && clock.now() - line.heardAt < limits.freshMs) return;
    try {
      await line.ask({ is: "ListActors" }, { limitMs: limits.replyMs });
    } catch (error) {
      // A refusal is an answer.
      if (error instanceof LineError) throw new LineError(error.why, error.message, false);
    }
  }
}

/** The actor is not in the server's list. */
export const notFound = (id: string, { server }: Settings): StageError =>
  new StageError("ActorNotFound", `There is no actor ${id.slice(0, 200)} at ${server}: list the actors to see who is there.`);
