import { OperationError } from "../bridges/operate/operation-error.ts";
import { TroupeError } from "../core/contract/index.ts";
import { CommandError, describeFailure, noActor } from "./exit-code.ts";

/** The engine speaks to authors, of `start` and behaviours; whoever typed a command needs its options instead. Code and exit stay. */
export const inCommandWords = (error: unknown, operation: string, actor: string, place?: string): unknown => {
  if (error instanceof OperationError && error.missing !== undefined) return noActor(error.missing, place);
  if (error instanceof OperationError && (error.code === "SENT" || error.code === "STATE_MISFIT"))
    return new OperationError(error.code, `${error.message} The option is --force.`);
  const [kind = ""] = actor.split("/");
  // What a turn met on its own way may be about another actor.
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
      return operation === "call" ? say(`${actor} has stopped: add --start to begin another life of it.`) : error;
    case "UNKNOWN_KIND":
      return say(`No module here defines the kind "${kind}": serve one that does, or where no server runs, name it with --module.`);
    default:
      return error;
  }
};
