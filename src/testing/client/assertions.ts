import { AssertionError } from "node:assert/strict";
import { inspect, isDeepStrictEqual } from "node:util";
import { type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { isJsonObjects, type TestReply } from "./message.ts";
import { shapes, type ToolResult } from "./results.ts";

// The assertions' own class, which every runner shows as such; none of theirs is needed.
function wrong(operator: string, message: string, actual: unknown, expected: unknown): AssertionError {
  return new AssertionError({ message: `${message}\n${inspect(actual, { depth: 6, breakLength: 100 })}`, actual, expected, operator });
}

/** The text of a tool's result: its text contents, one a line. */
export const toolText = (result: ToolResult): string =>
  result.content.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("\n");

/**
 * Of a tool that did what it should, without `isError`: this text exactly, one that matches, or this object as its
 * `structuredContent`. Takes a result, or a response with one.
 */
export function assertToolResult(actual: ToolResult | TestReply, expected: string | RegExp | JsonObject): void {
  const result = resultIn(actual);
  if (result === undefined) throw wrong("assertToolResult", "There is no tool result here:", actual, expected);
  if (result.isError === true) throw wrong("assertToolResult", `The tool failed: ${toolText(result)}`, actual, expected);
  if (typeof expected === "string" || expected instanceof RegExp) return assertText(toolText(result), expected);
  const found = result.structuredContent;
  if (!isDeepStrictEqual(found, expected)) throw wrong("assertToolResult", "The tool's structuredContent is another:", found, expected);
}

function assertText(found: string, expected: string | RegExp): void {
  if (typeof expected === "string" ? found === expected : expected.test(found)) return;
  throw wrong("assertToolResult", `The tool's text is ${JSON.stringify(found)}, not ${String(expected)}:`, found, expected);
}

/** Of a JSON-RPC response (`client.raw`), or what a call of the client rejected with. */
export function assertError(actual: unknown, code: number): void {
  const error = errorIn(actual);
  if (error === undefined) throw wrong("assertError", `No error, where ${code} was expected:`, actual, code);
  if (error.code !== code) throw wrong("assertError", `The error is ${String(error.code)}, not ${code}:`, error, code);
}

/** Takes a list of tools, or the response to `tools/list`; others may be there too. */
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
