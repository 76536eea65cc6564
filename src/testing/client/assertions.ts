import { AssertionError } from "node:assert/strict";
import { inspect } from "node:util";
import type { Bag } from "../../contract/index.ts";
import { isBags, type TestReply } from "./message.ts";
import type { ToolResult } from "./results.ts";

// The assertions' own class, which every runner shows as such; none of theirs is needed.
function wrong(operator: string, message: string, actual: unknown, expected: unknown): AssertionError {
  return new AssertionError({ message: `${message}\n${inspect(actual, { depth: 6, breakLength: 100 })}`, actual, expected, operator });
}

/** The text of a tool's result: its text contents, one a line. */
export const toolText = (result: ToolResult): string =>
  result.content.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("\n");

/** Of a tool that did what it should: no `isError`, and this text exactly, or one that matches. Takes a result, or a response with one. */
export function assertToolResult(actual: ToolResult | TestReply, text: string | RegExp): void {
  const result = resultIn(actual);
  if (result === undefined) throw wrong("assertToolResult", "There is no tool result here:", actual, text);
  if (result["isError"] === true) throw wrong("assertToolResult", `The tool failed: ${toolText(result)}`, actual, text);
  const found = toolText(result);
  if (typeof text === "string" ? found === text : text.test(found)) return;
  throw wrong("assertToolResult", `The tool's text is ${JSON.stringify(found)}, not ${String(text)}:`, found, text);
}

/** Of a JSON-RPC response (`client.raw`), or what a call of the client rejected with. */
export function assertError(actual: unknown, code: number): void {
  const error = errorIn(actual);
  if (error === undefined) throw wrong("assertError", `No error, where ${code} was expected:`, actual, code);
  if (error.code !== code) throw wrong("assertError", `The error is ${String(error.code)}, not ${code}:`, error, code);
}

/** Takes a list of tools, or the response to `tools/list`; others may be there too. */
export function assertHasTools(actual: readonly Bag[] | TestReply, ...names: readonly string[]): void {
  const tools = "jsonrpc" in actual ? actual.result?.["tools"] : actual;
  if (!isBags(tools)) throw wrong("assertHasTools", "There is no list of tools here:", actual, names);
  const there = tools.map(({ name }) => name);
  const missing = names.filter((name) => !there.includes(name));
  if (missing.length > 0) throw wrong("assertHasTools", `Tools are missing: ${missing.join(", ")}. There are:`, there, names);
}

function resultIn(actual: ToolResult | TestReply): ToolResult | undefined {
  const bag: unknown = "jsonrpc" in actual ? actual["result"] : actual;
  return isToolResult(bag) ? bag : undefined;
}

const isToolResult = (value: unknown): value is ToolResult =>
  typeof value === "object" && value !== null && "content" in value && isBags(value.content);

function errorIn(actual: unknown): { readonly code: unknown } | undefined {
  if (typeof actual !== "object" || actual === null) return undefined;
  const error: unknown = "jsonrpc" in actual && "error" in actual ? actual.error : actual;
  return typeof error === "object" && error !== null && "code" in error ? error : undefined;
}
