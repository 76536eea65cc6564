// Owns: assertions about what a server or an actor answered. Does not own: getting the answer (client.ts, testActor.ts).
import { AssertionError } from "node:assert/strict";
import { inspect, isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type Reply, type Turn } from "../../core/contract/index.ts";
import { isJsonObjects, objectIn, shapes, type TestReply, type ToolResult } from "./messages.ts";
import { faultsBehind } from "./server-faults.ts";

// Node's own class, which every test runner prints as an assertion error.
function wrong(operator: string, message: string, actual: unknown, expected: unknown): AssertionError {
  return new AssertionError({ message: `${message}\n${inspect(actual, { depth: 6, breakLength: 100 })}`, actual, expected, operator });
}

/**
 * The text of a tool's result: its text contents, one a line.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { testServer, toolText } from "troupe/testing";
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
 * console.log(toolText(await server.client().callTool("open"))); // "It creaks open."
 * ```
 */
export const toolText = (result: ToolResult): string =>
  result.content.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("\n");

/**
 * Asserts that a tool succeeded (no `isError`) with exactly this text, text that matches, or this object as its `structuredContent`.
 * Takes a result, or a response with one.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { assertToolResult, testServer } from "troupe/testing";
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
 * assertToolResult(await server.client().callTool("open"), /creaks/);
 * ```
 */
export function assertToolResult(actual: ToolResult | TestReply, expected: string | RegExp | JsonObject): void {
  const result = resultIn(actual);
  if (result === undefined) throw wrong("assertToolResult", "There is no tool result here:", actual, expected);
  if (result.isError === true)
    throw wrong("assertToolResult", `The tool failed: ${toolText(result)}${faultsBehind(result)}`, actual, expected);
  if (typeof expected === "string" || expected instanceof RegExp) return assertText(toolText(result), expected);
  const found = result.structuredContent;
  if (!isDeepStrictEqual(found, expected)) throw wrong("assertToolResult", "The tool's structuredContent is another:", found, expected);
}

function assertText(found: string, expected: string | RegExp): void {
  if (matches(found, expected)) return;
  throw wrong("assertToolResult", `The tool's text is ${JSON.stringify(found)}, not ${String(expected)}:`, found, expected);
}

// Not by `test`, which for the flag g starts after the last match.
const matches = (found: string, expected: string | RegExp): boolean =>
  typeof expected === "string" ? found === expected : found.search(expected) !== -1;

/** A value that may be a refusal: a tool's result, a JSON-RPC response, the reply of an engine or of a view, or a turn. */
export type Refusable = ToolResult | TestReply | Reply | Turn<unknown> | "later" | undefined;

/**
 * Asserts that the call was refused, with this message or one that matches the pattern, and with this code, if given. If an author's
 * code throws an error, it has crashed: that is not a refusal.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { assertRefused, testServer } from "troupe/testing";
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
 * const client = server.client();
 * await client.callTool("open");
 * assertRefused(await client.callTool("open"), "It is already open.");
 * ```
 */
export function assertRefused(actual: Refusable, expected?: string | RegExp, code?: string): void {
  const refusal = refusalIn(actual);
  if (typeof refusal === "string") throw wrong("assertRefused", `Expected a refusal, but ${refusal}:`, actual, expected ?? code);
  const { message } = refusal;
  if (expected !== undefined && !matches(message, expected))
    throw wrong("assertRefused", `The refusal says ${JSON.stringify(message)}, not ${String(expected)}:`, message, expected);
  if (code !== undefined && refusal.code !== code)
    throw wrong(
      "assertRefused",
      `The refusal has ${refusal.code ?? "no code"}, not ${code}; it says ${JSON.stringify(message)}:`,
      actual,
      code,
    );
}

interface RefusalFound {
  readonly message: string;
  readonly code: string | undefined;
}

/** The refusal, or what there is instead. */
function refusalIn(actual: Refusable): RefusalFound | string {
  if (actual === undefined) return "there is no reply, which means that it was done";
  if (actual === "later") return "the reply comes in a later turn";
  if ("content" in actual) return refusalInResult(actual);
  if ("jsonrpc" in actual) return refusalInResponse(actual);
  if ("refused" in actual) return actual.refused;
  if ("ok" in actual) return "the reply is `ok`";
  if ("needs" in actual) return "the client must answer a question first";
  return refusalIn(actual.reply);
}

function refusalInResult(result: ToolResult): RefusalFound | string {
  if (result.isError !== true) return `the tool succeeded: ${toolText(result)}`;
  const details = objectIn(result._meta, "troupe/refused");
  return (
    refusalWith(toolText(result), details) ??
    `the tool failed with ${codeIn(details) ?? "no code"}: ${toolText(result)}${faultsBehind(result)}`
  );
}

function refusalInResponse(response: TestReply): RefusalFound | string {
  const { error } = response;
  const result = resultIn(response);
  if (error === undefined) return result === undefined ? "there is no tool result" : refusalInResult(result);
  const details = objectIn({ data: error.data ?? null }, "data");
  const refusal = codeIn(details) !== undefined ? refusalWith(error.message, details) : undefined;
  return refusal ?? `the server answered with the error ${error.code}: ${error.message}`;
}

/** A failure of the server says whether the call was applied. A refusal never was. */
function refusalWith(message: string, details: JsonObject): RefusalFound | undefined {
  return "applied" in details ? undefined : { message, code: codeIn(details) };
}

function codeIn({ code }: JsonObject): string | undefined {
  return typeof code === "string" ? code : undefined;
}

/**
 * Asserts a JSON-RPC error with this code. Takes a response (`client.raw`), or what a call of the client rejected with.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { assertError, callToolRequest, testServer } from "troupe/testing";
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
 * assertError(await server.client().raw(callToolRequest(1, "no-such-tool")), -32602);
 * ```
 */
export function assertError(actual: unknown, code: number): void {
  const error = errorIn(actual);
  if (error === undefined) throw wrong("assertError", `No error, where ${code} was expected:`, actual, code);
  if (error.code !== code) throw wrong("assertError", `The error is ${String(error.code)}, not ${code}:`, error, code);
}

/**
 * Asserts that the list contains these tools, among others. Takes a list of tools, or the response to `tools/list`.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { assertHasTools, testServer } from "troupe/testing";
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
 * assertHasTools(await server.client().listTools(), "open");
 * ```
 */
export function assertHasTools(actual: readonly JsonObject[] | TestReply, ...names: readonly string[]): void {
  const tools = "jsonrpc" in actual ? actual.result?.["tools"] : actual;
  if (!isJsonObjects(tools)) throw wrong("assertHasTools", "There is no list of tools here:", actual, names);
  const there = tools.map(({ name }) => name);
  const missing = names.filter((name) => !there.includes(name));
  if (missing.length > 0) throw wrong("assertHasTools", `Tools are missing: ${missing.join(", ")}. There are:`, there, names);
}

function resultIn(actual: ToolResult | TestReply): ToolResult | undefined {
  const bag = "jsonrpc" in actual ? actual["result"] : actual;
  return isJsonObject(bag) && shapes.toolResult(bag) ? bag : undefined;
}

function errorIn(actual: unknown): { readonly code: unknown } | undefined {
  if (typeof actual !== "object" || actual === null) return undefined;
  const error: unknown = "jsonrpc" in actual && "error" in actual ? actual.error : actual;
  return typeof error === "object" && error !== null && "code" in error ? error : undefined;
}
