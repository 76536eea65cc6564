// Owns: how commands fail: exit codes, errors and their wording. Does not own: printing them (run-program.ts).
import { type OperationCode, OperationError } from "../bridges/operate/operation-error.ts";
import { EngineError, TroupeError } from "../core/contract/index.ts";
import { hasBegun, messageOf } from "../core/contract/internal.ts";

/** Exit codes, documented in docs/guide/cli.md. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  notFound: 4,
  unverified: 5,
  unavailable: 6,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An expected failure: printed as one sentence, without a stack. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: ExitCode;
  readonly code: string;
  constructor(exit: ExitCode, code: string, message: string) {
    super(message);
    this.exit = exit;
    this.code = code;
  }
}

export const usage = (message: string): CommandError => new CommandError(EXIT.usage, "USAGE", message);
export const notFound = (message: string): CommandError => new CommandError(EXIT.notFound, "NOT_FOUND", message);

/** `where`: the data directory, or the address of the cluster. */
export const noActor = (id: string, where?: string): CommandError =>
  notFound(`There is no actor ${id}${where === undefined ? "" : ` in ${where}`}; "troupe actors" lists them.`);

const byCode: Readonly<Record<string, ExitCode>> = {
  NO_ACTOR: EXIT.notFound,
  BAD_ID: EXIT.usage,
  UNKNOWN_KIND: EXIT.usage,
  STORE_LOCKED: EXIT.unavailable,
  STORE_CORRUPT: EXIT.unverified,
  DRAINING: EXIT.unavailable,
  BAD_DEFINITION: EXIT.usage,
  BAD_NAME: EXIT.usage,
  NAME_COLLISION: EXIT.usage,
  BAD_OPTION: EXIT.usage,
  UNSAFE_LISTENER: EXIT.usage,
  SQL_WRONG: EXIT.usage,
  SQL_DENIED: EXIT.refused,
};

const byOperation: Readonly<Record<OperationCode, ExitCode>> = {
  USAGE: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  SENT: EXIT.refused,
  CHANGED: EXIT.unavailable,
  STATE_MISFIT: EXIT.refused,
  NOT_AVAILABLE: EXIT.refused,
};

export const describeFailure = (error: unknown): { readonly exit: ExitCode; readonly code: string; readonly message: string } => {
  if (error instanceof CommandError) return { exit: error.exit, code: error.code, message: error.message };
  if (error instanceof OperationError)
    return {
      exit: byOperation[error.code],
      code: error.code,
      message: error.missing === undefined ? error.message : noActor(error.missing).message,
    };
  if (error instanceof TroupeError) return { exit: byCode[error.code] ?? EXIT.failed, code: error.code, message: error.message };
  const message = messageOf(error);
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "FAILED";
  return { exit: EXIT.failed, code, message };
};

/** Rewords errors of the engine, which address authors (`start`, behaviours), for users of commands. Code and exit code stay. */
export const rewordForCommands = (error: unknown, operation: string, actor: string, place?: string): unknown => {
  if (error instanceof OperationError && error.missing !== undefined) return noActor(error.missing, place);
  if (error instanceof OperationError && (error.code === "SENT" || error.code === "STATE_MISFIT"))
    return new OperationError(error.code, `${error.message} The option is --force.`);
  const [kind = ""] = actor.split("/");
  // An error from inside a turn may be about another actor.
  if (!(error instanceof TroupeError) || kind === "" || !error.message.includes(error.code === "UNKNOWN_KIND" ? `"${kind}"` : actor))
    return error;
  const { exit, code } = describeFailure(error);
  const say = (message: string): CommandError => new CommandError(exit, code, message);
  switch (error.code) {
    case "NO_ACTOR":
      return say(
        `There is no actor ${actor}${place === undefined ? "" : ` in ${place}`}${operation === "call" ? ": add --start to begin it." : '; "troupe actors" lists them.'}`,
      );
    case "ACTOR_STOPPED":
      // What was stopped at work is not to be done again without a look.
      return operation === "call" && !(error instanceof EngineError && hasBegun(error) === true)
        ? say(`${actor} has stopped: add --start to begin another life of it.`)
        : error;
    case "UNKNOWN_KIND":
      return say(`No module here defines the kind "${kind}": serve one that does, or where no server runs, name it with --module.`);
    default:
      return error;
  }
};
