// Owns: the refusals of operators' operations. Does not own: their exit codes (cli) or HTTP statuses (bridges/console).

import type { ActorId, StateMisfit } from "../../core/contract/index.ts";

/**
 * | code | |
 * |---|---|
 * | USAGE | the request is malformed |
 * | NOT_FOUND | there is no such actor, event or letter |
 * | SENT | a revert would go back behind messages that were sent |
 * | CHANGED | the actor has changed since it was read |
 * | STATE_MISFIT | an edit does not fit the state's schema |
 * | NOT_AVAILABLE | the server does not allow it |
 */
export type OperationCode = "USAGE" | "NOT_FOUND" | "SENT" | "CHANGED" | "STATE_MISFIT" | "NOT_AVAILABLE";

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

/** An edit that does not fit the state's schema. */
export class StateMisfitError extends OperationError {
  readonly misfits: readonly StateMisfit[];

  constructor(id: ActorId, misfits: readonly StateMisfit[]) {
    const described = misfits.slice(0, MOST_DESCRIBED).map(({ path, message }) => `${path === "" ? "the state" : path}: ${message}`);
    const more = misfits.length - described.length;
    super(
      "STATE_MISFIT",
      `The edit does not fit the state's schema of ${id} (${described.join("; ")}${more > 0 ? `; and ${more} more` : ""}): correct it, or force the edit to write it all the same.`,
    );
    this.misfits = misfits;
  }
}

const MOST_DESCRIBED = 8;

/** The rule for edits: in development, or where the server allows them. */
export const editsOff = (): OperationError =>
  new OperationError(
    "NOT_AVAILABLE",
    'States are edited in "troupe dev" only, unless the server allows it: start it with --allow-edit, or in a program with `edit: true`.',
  );

export const badUsage = (message: string): OperationError => new OperationError("USAGE", message);
export const notFound = (message: string): OperationError => new OperationError("NOT_FOUND", message);
export const noActor = (id: ActorId): OperationError =>
  new OperationError("NOT_FOUND", `There is no actor ${id}: look for its id in the list of actors.`, id);
