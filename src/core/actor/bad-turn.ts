import { TroupeError } from "../contract/index.ts";

/** An author's turn did what cannot work: the message says what to do instead. */
export function badTurn(message: string, cause?: unknown): TroupeError<"BAD_TURN"> {
  return whereMade(new TroupeError("BAD_TURN", message, { cause }));
}

const PACKAGE = new URL("../..", import.meta.url).href;

/** The same error, whose frames begin where Troupe was called: what a log tells of the place is the author's own line. */
export function whereMade<E extends Error>(error: E): E {
  const frames = framesOf(error).split("\n");
  const first = frames.findIndex((frame) => frame.includes("file:") && !frame.includes(PACKAGE));
  if (first > 0) error.stack = `${error.name}: ${error.message}\n${frames.slice(first).join("\n")}`;
  return error;
}

/**
 * What an author's code threw, as it is thrown on: the mistakes that only the language tells of, in its own words, get
 * a sentence, and so does a state that is not what the code was written for (`misfit`). The frames stay: where to look is where the author's code threw.
 */
export function explained(action: string, error: unknown, misfit: string | undefined): unknown {
  const why = reasonFor(error) ?? (misfit && `threw TypeError, and ${misfit}.`);
  return why === undefined || !(error instanceof Error) ? error : withFramesOf(error, badTurn(`${action} ${why}`, error));
}

function reasonFor(error: unknown): string | undefined {
  if (error instanceof DOMException && error.name === "DataCloneError")
    return "cloned what cannot be cloned, as no draft of `ctx.state` can: copy it with JSON.parse(JSON.stringify(value)).";
  if (!(error instanceof TypeError)) return undefined;
  const { message } = error;
  if (/\brevoked\b/.test(message))
    return "used a draft of a turn that is over: copy what you keep beyond a turn (JSON.parse(JSON.stringify(value))), or read it from `ctx.state` again.";
  if (/\bread only\b|\bnot extensible\b|Cannot (?:delete|redefine) property|trap returned falsish/.test(message))
    return "wrote to something frozen: states, and what messages bring, are. Write to `ctx.state` of `run` and `work`, or to a copy.";
  return undefined;
}

/** `error`, with the frames of what it stands for. */
export function withFramesOf<E extends Error>(cause: Error, error: E): E {
  error.stack = `${error.name}: ${error.message}\n${framesOf(cause)}`;
  return error;
}

function framesOf({ stack = "", message }: Error): string {
  return stack.slice(stack.indexOf(message) + message.length).replace(/^[^\n]*\n/, "");
}
