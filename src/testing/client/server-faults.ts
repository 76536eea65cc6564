// Owns: faults of the server under test, as sentences with the author's own line, and which of them came with which answer. Does not own:
// the assertions that print them (assertions.ts).
import { inspect } from "node:util";
import { type ActorId, type Json, TroupeError } from "../../core/contract/index.ts";
import { authorPlace } from "../../core/contract/internal.ts";
import type { ReplyError } from "./messages.ts";

/** Where a fault happened, if that is known. */
export interface FaultOrigin {
  readonly actor?: ActorId;
  readonly action?: string;
}

/** A fault inside the server, which clients never see. */
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

/** Stores the faults that occurred during the request of this answer. */
export function noteFaults(answer: object, faults: readonly ServerFault[]): void {
  if (faults.length > 0) behind.set(answer, faults);
}

/** One line per fault that occurred during a request, to append to a message. */
const faultLines = (faults: readonly ServerFault[] | undefined): string => (faults ?? []).map(({ text }) => `\n  ${text}`).join("");

export const faultsBehind = (answer: object): string => faultLines(behind.get(answer));

/**
 * The server answered a call of the test client with a JSON-RPC error.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { RequestError, testServer } from "troupe/testing";
 * import * as z from "zod";
 *
 * const door = actor("door", {
 *   description: "A door.",
 *   state: z.object({ open: z.boolean().default(false) }),
 *   tools: {
 *     open: {
 *       description: "Open it.",
 *       enabled: ({ state }) => !state.open || "It is already open.",
 *       run({ state }) {
 *         state.open = true;
 *         return "It creaks open.";
 *       },
 *     },
 *   },
 * });
 * await using server = await testServer([door]);
 * try {
 *   await server.client().callTool("no-such-tool");
 * } catch (error) {
 *   if (error instanceof RequestError) console.error(error.code, error.message);
 * }
 * ```
 */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly method: string;
  /** JSON-RPC's number. */
  readonly code: number;
  readonly data?: Json;

  /** `faults`: those of the server during the call, for the message. */
  constructor(method: string, { code, message, data }: ReplyError, faults: readonly ServerFault[] = []) {
    const more = data === undefined ? "" : ` data=${inspect(data, { depth: 4, breakLength: Infinity })}`;
    super(`${method} error: code=${code} message=${message}${more}${faultLines(faults)}`);
    this.method = method;
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}
