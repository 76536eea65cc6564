// Owns: the headers of a 2026-07-28 request that repeat its body. Does not own: the envelope (envelope.ts).
import { type JsonObject, type Exchange, isJsonObject, type Json, type Offer } from "../../../core/contract/index.ts";
import { memoize, headerParameters, getOwn } from "../../../core/contract/internal.ts";
import { fromBase64, textOf } from "../../../core/platform/index.ts";
import { Fault, type Reason } from "../errors.ts";
import type { Request } from "../json-rpc.ts";

type Header = Exchange["header"];

const mismatch = (message: string, reason?: Reason, about?: string): Fault =>
  new Fault("HEADERS", `Header mismatch: ${message}`, {
    ...(reason === undefined ? undefined : { reason }),
    ...(about === undefined ? undefined : { about }),
  });

// A header that was sent twice arrives as a list.
const wrong = (given: string, message: string, reason: Reason, about: string): Fault =>
  given.includes(",") ? mismatch(message, "header-conflict", about) : mismatch(message, reason, about);

/**
 * Checks that `Mcp-Method` and `Mcp-Name` repeat the body. `mustName`: a name that is missing in the body is refused here. `tasks`: the
 * methods of tasks exist. Throws `HEADERS`.
 */
export function checkStandardHeaders(header: Header, request: Request, mustName: boolean, tasks: boolean): void {
  checkMethodHeader(header, request.method, true);
  const named = NAMED.get(request.method) ?? (tasks ? OF_TASKS.get(request.method) : undefined);
  if (named === undefined) return;
  const inBody = request.params[named];
  const inHeader = header("mcp-name")?.trim();
  if (inHeader === undefined) {
    if (mustName && (typeof inBody !== "string" || inBody === "")) throw mismatch(`params.${named} is missing.`, "routed-name", named);
    // Without a name in the body there is nothing to repeat; the method reports what is missing.
    if (typeof inBody === "string")
      throw mismatch(`the Mcp-Name header is missing; it repeats params.${named}.`, "header-missing", "Mcp-Name");
    return;
  }
  const name = decodeValue(inHeader);
  if (name === inBody) return;
  const message = `Mcp-Name does not match params.${named}.`;
  if (typeof inBody !== "string" || inBody === "") throw mismatch(message, "routed-name", named);
  const malformed = name === undefined || (name === inHeader && inHeader.startsWith(ENCODED));
  throw wrong(inHeader, message, malformed ? "header-malformed" : "header-name", "Mcp-Name");
}

/** Checks that `Mcp-Method` repeats the body's method. Throws `HEADERS`. */
export function checkMethodHeader(header: Header, method: string, isRequired: boolean): void {
  const given = header("mcp-method")?.trim();
  if (given === undefined) {
    if (isRequired) throw mismatch("the Mcp-Method header is missing.", "header-missing", "Mcp-Method");
  } else if (given !== method) throw wrong(given, "Mcp-Method does not match the body's method.", "header-method", "Mcp-Method");
}

const NAMED: ReadonlyMap<string, "name" | "uri"> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

const OF_TASKS: ReadonlyMap<string, "taskId"> = new Map([
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** Checks that `MCP-Protocol-Version` repeats the envelope. Throws `HEADERS`. */
export function checkVersionHeader(header: Header, claimed: string): void {
  const version = header("mcp-protocol-version")?.trim();
  if (version === undefined) throw mismatch("the MCP-Protocol-Version header is missing.", "header-missing", "MCP-Protocol-Version");
  if (version !== claimed)
    throw wrong(version, "MCP-Protocol-Version does not match the version in _meta.", "header-version", "MCP-Protocol-Version");
}

/** The arguments that a tool wants repeated as `Mcp-Param-*`, found once per offer. */
const mirroredBy = memoize(({ definition }: Offer) => headerParameters(definition["inputSchema"]));

/** Checks that each of these arguments is repeated by its header, and no header without one. Throws `HEADERS`. */
export function checkParamHeaders(header: Header, offer: Offer, args: JsonObject): void {
  for (const { path, header: name } of mirroredBy(offer)) {
    const value = valueAt(args, path);
    const given = header(name)?.trim();
    if (value === undefined || value === null) {
      if (given !== undefined) throw mismatch(`${name} has no value in the arguments to repeat.`);
      continue;
    }
    if (given === undefined) throw mismatch(`the ${name} header is missing; it repeats the argument ${path.join(".")}.`);
    if (!same(decodeValue(given), value)) throw mismatch(`${name} does not match the argument ${path.join(".")}.`);
  }
}

function valueAt(args: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = args;
  for (const key of path) value = isJsonObject(value) ? getOwn(value, key) : undefined;
  return value;
}

function same(text: string | undefined, value: Json): boolean {
  if (text === undefined) return false;
  if (typeof value === "number") return /^-?\d+(?:\.\d+)?$/.test(text) && Number(text) === value;
  if (typeof value === "string" || typeof value === "boolean") return text === String(value);
  return false;
}

const ENCODED = "=?base64?";
const END = "?=";

/** The value of a header that was sent more than once with the same value. */
export function joined(text: string | undefined): string | undefined {
  if (text === undefined || !text.includes(",")) return text;
  const [first, ...others] = text.split(",").map((part) => part.trim());
  return others.every((one) => one === first) ? first : text;
}

/** A header's value: literal, or base64 of UTF-8 between `=?base64?` and `?=`. Undefined: neither. */
function decodeValue(text: string): string | undefined {
  if (!text.startsWith(ENCODED) || !text.endsWith(END) || text.length < ENCODED.length + END.length)
    return /^[\t\x20-\x7e]*$/.test(text) ? text : undefined;
  const encoded = text.slice(ENCODED.length, -END.length);
  if (encoded.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(encoded)) return undefined;
  return textOf(fromBase64(encoded));
}
