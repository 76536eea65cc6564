// Owns: the refusals of operators' operations. Does not own: their exit codes (cli) or HTTP statuses (bridges/console).

import type { ActorId } from "../../core/contract/index.ts";

/**
 * | code | |
 * |---|---|
 * | USAGE | the request is malformed |
 * | NOT_FOUND | there is no such actor, event or letter |
 * | SENT | a revert would go back behind messages that were sent |
 * | CHANGED | the actor has changed since it was read |
 */
export type OperationCode = "USAGE" | "NOT_FOUND" | "SENT" | "CHANGED";

/** An operation that cannot be done. The message says what to do instead. */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly code: OperationCode;
  /** The actor that does not exist. */
  readonly missing?: ActorId;

  constructor(code: OperationCode, message: string, missing?: ActorId) {
    super(message);
    this.code = code;
    if (missing !== undefined) this.missing = missing;
  }
}

export const badUsage = (message: string): OperationError => new OperationError("USAGE", message);
export const notFound = (message: string): OperationError => new OperationError("NOT_FOUND", message);
export const noActor = (id: ActorId): OperationError =>
  new OperationError("NOT_FOUND", `There is no actor ${id}: look for its id in the list of actors.`, id);
