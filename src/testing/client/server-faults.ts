// Owns: faults of the server under test, as sentences with the author's own line, and which of them came with which answer. Does not own:
// the assertions that print them (assertions.ts).
import { type ActorId, TroupeError } from "../../core/contract/index.ts";
import { authorPlace } from "../../core/contract/internal.ts";

/** Where a fault happened, if that is known. */
export interface FaultOrigin {
  readonly actor?: ActorId;
  readonly action?: string;
}

/** What broke inside the server, which no client is shown. */
export class ServerFault {
  /** As in `tools/open of door/front threw TypeError: No key, at /path/door.ts:12:9`. */
  readonly text: string;
  /** What was thrown. */
  readonly error: unknown;
  readonly actor: ActorId | undefined;
  readonly action: string | undefined;

  constructor(error: unknown, { actor, action }: FaultOrigin = {}) {
    this.error = error;
    this.actor = actor;
    this.action = action;
    const where = [action, actor].filter((part) => part !== undefined).join(" of ");
    const place = error instanceof Error ? authorPlace(error) : undefined;
    this.text = `${where === "" ? "The server" : where} ${whatOf(error)}${place === undefined ? "" : `, at ${place}`}`;
  }

  toString(): string {
    return this.text;
  }
}

function whatOf(error: unknown): string {
  if (error instanceof TroupeError) return `failed with ${error.code}: ${error.message}`;
  return error instanceof Error ? `threw ${error.name}: ${error.message}` : `threw a value of type ${typeof error}`;
}

const behind = new WeakMap<object, readonly ServerFault[]>();

/** Remembers the faults that came while this answer was on its way. */
export function noteFaults(answer: object, faults: readonly ServerFault[]): void {
  if (faults.length > 0) behind.set(answer, faults);
}

/** One line for each fault that came while the answer was on its way, to append to a message. */
export const faultLines = (faults: readonly ServerFault[] | undefined): string => (faults ?? []).map(({ text }) => `\n  ${text}`).join("");

export const faultsBehind = (answer: object): string => faultLines(behind.get(answer));
