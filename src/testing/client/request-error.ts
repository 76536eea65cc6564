import { inspect } from "node:util";
import type { Json } from "../../core/contract/index.ts";
import type { ReplyError } from "./message.ts";
import { faultLines, type ServerFault } from "./server-faults.ts";

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

  /** `faults`: what broke in the server meanwhile, which only the message shows. */
  constructor(method: string, { code, message, data }: ReplyError, faults: readonly ServerFault[] = []) {
    const more = data === undefined ? "" : ` data=${inspect(data, { depth: 4, breakLength: Infinity })}`;
    super(`${method} error: code=${code} message=${message}${more}${faultLines(faults)}`);
    this.method = method;
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}
