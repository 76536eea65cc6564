// Owns: what author code replies with: content blocks, bytes, refusals, or a promise of a later reply. Does not own: the reply's way to a client (mcp/gateway).
import { type JsonObject, BLOB, CONTENT, type Content, type Json, type Reply } from "../contract/index.ts";
import { isBase64, REFUSAL } from "../contract/internal.ts";
import { describeIssues, type Issue, listIssues } from "../schema/index.ts";
import { badTurn } from "./author-errors.ts";
import { toJson } from "./to-json.ts";

/**
 * A reply made of MCP content blocks; a bare string is a text block. `structured` becomes `structuredContent`, checked against the tool's `output`.
 *
 * @example
 * ```ts
 * import { actor, content } from "troupe";
 * import * as z from "zod";
 *
 * export const dice = actor("dice", {
 *   description: "A die.",
 *   state: z.object({ last: z.number().default(1) }),
 *   tools: {
 *     show: {
 *       description: "Show the last roll.",
 *       output: z.object({ last: z.number() }),
 *       view: ({ state }) => content([`You rolled ${state.last}.`], { last: state.last }),
 *     },
 *   },
 * });
 * ```
 */
export function content(blocks: readonly (string | JsonObject)[], structured?: unknown): Content {
  const made = blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block));
  return structured === undefined ? { [CONTENT]: made } : { [CONTENT]: made, structured: toJson(structured, "structured content") };
}

/** A resource's bytes, as base64. */
export interface Blob {
  readonly [BLOB]: string;
}

/**
 * What a resource's `view` returns for bytes: they are sent as base64. A string must be base64 already. Throws `BAD_TURN` if it is not.
 *
 * @example
 * ```ts
 * import { actor, blob } from "troupe";
 * import * as z from "zod";
 *
 * export const picture = actor("picture", {
 *   description: "A picture.",
 *   state: z.object({ png: z.string().default("") }), // base64
 *   resources: { png: { uri: "picture://png", mimeType: "image/png", view: ({ state }) => blob(state.png) } },
 * });
 * ```
 */
export function blob(bytes: Uint8Array | string): Blob {
  if (typeof bytes !== "string") return { [BLOB]: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  if (!isBase64(bytes)) throw badTurn("blob() was given text that is not base64, which clients refuse: give it the bytes.");
  return { [BLOB]: bytes };
}

/** What `ctx.later()` returns: a later turn answers the caller, and the mailbox continues. */
export class Later {
  readonly #mark = true;
  static is(value: unknown): boolean {
    return value instanceof Later && value.#mark;
  }
}

declare const FORWARDED: unique symbol;

/** What `forward()` returns: the other actor's reply, of this type, becomes the caller's. */
export interface Forwarded<T> {
  readonly [FORWARDED]: T;
}

/** What a turn that forwarded its call returns, at run time. */
export class ForwardedMark {
  readonly #mark = true;
  static is(value: unknown): boolean {
    return value instanceof ForwardedMark && value.#mark;
  }
}

/** What `settled()` returns, at run time. */
export class SettledMark {
  readonly #value: unknown;
  constructor(value: unknown) {
    this.#value = value;
  }
  /** Undefined: it is another value. */
  static read(value: unknown): { readonly value: unknown } | undefined {
    return value instanceof SettledMark ? { value: value.#value } : undefined;
  }
}

/** What `refuse` throws: the turn leaves no trace, and its caller gets the reason (C3). */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: string;
  readonly data?: Json;
  readonly [REFUSAL] = true;
  constructor(message: string, code: string, data?: Json) {
    super(message);
    this.code = code;
    if (data !== undefined) this.data = data;
  }
}

/**
 * Ends the turn without a trace. The caller gets `message`, as a refusal and not as a fault. `code` defaults to `REFUSED`.
 *
 * @example
 * ```ts
 * import { actor, refuse } from "troupe";
 * import * as z from "zod";
 *
 * export const account = actor("account", {
 *   description: "An account.",
 *   state: z.object({ balance: z.number().default(0) }),
 *   tools: {
 *     pay: {
 *       description: "Pay from it.",
 *       input: z.object({ amount: z.number().positive() }),
 *       run({ state, args }) {
 *         if (args.amount > state.balance) refuse(`Only ${state.balance} left.`);
 *         state.balance -= args.amount;
 *         return state.balance;
 *       },
 *     },
 *   },
 * });
 * ```
 */
export function refuse(message: string, options?: { readonly code?: string; readonly data?: unknown }): never {
  const data = options?.data === undefined ? undefined : toJson(options.data, "the data of a refusal");
  throw new Refusal(message, options?.code ?? "REFUSED", data);
}

export function refused(code: string, message: string, data?: Json): Reply {
  return { refused: data === undefined ? { code, message } : { code, message, data } };
}

/** The reply to an action that does not exist. A hidden one gets the same (law 3). */
export function unknownAction(action: string): Reply {
  return refused("UNKNOWN", `There is no ${action} here.`);
}

/** The refusal of arguments that do not fit, with each path and what was expected there. */
export function invalid(issues: readonly Issue[]): Reply {
  return refused("INVALID", `Invalid arguments: ${describeIssues(issues)}.`, { issues: listIssues(issues) });
}
