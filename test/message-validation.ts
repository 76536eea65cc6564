// Validates messages as strict parsers in any language do (valid Unicode, no duplicate members) and by the official schemas.
import assert from "node:assert/strict";
import * as v2 from "@modelcontextprotocol/core";
import * as v1 from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A string with its escapes, or a single structural character. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** Parses like a strict parser: throws on invalid UTF-8, an unpaired surrogate, escaped or not, or a duplicate member. */
export function strictJson(message: string | Uint8Array): unknown {
  const text = typeof message === "string" ? message : decoder.decode(message);
  const value: unknown = JSON.parse(text);
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(undefined);
    else if (token === "}" || token === "]") open.pop();
    if (token.startsWith('"')) {
      const string = String(JSON.parse(token));
      assert.ok(string.isWellFormed(), `an unpaired surrogate in ${token.slice(0, 200)}`);
      const names = open.at(-1);
      if (isName && names !== undefined) {
        assert.ok(!names.has(string), `two members are called ${token.slice(0, 200)}`);
        names.add(string);
      }
    }
    isName = token === "{" || (token === "," && open.at(-1) !== undefined);
  }
  return value;
}

const legacy: Readonly<Record<string, z.ZodType>> = {
  initialize: v1.InitializeResultSchema,
  ping: v1.EmptyResultSchema,
  "tools/list": v1.ListToolsResultSchema,
  "tools/call": v1.CallToolResultSchema,
  "resources/list": v1.ListResourcesResultSchema,
  "resources/templates/list": v1.ListResourceTemplatesResultSchema,
  "resources/read": v1.ReadResourceResultSchema,
  "resources/subscribe": v1.EmptyResultSchema,
  "resources/unsubscribe": v1.EmptyResultSchema,
  "prompts/list": v1.ListPromptsResultSchema,
  "prompts/get": v1.GetPromptResultSchema,
  "completion/complete": v1.CompleteResultSchema,
  "logging/setLevel": v1.EmptyResultSchema,
};

const modern: Readonly<Record<string, z.ZodType>> = {
  "server/discover": v2.DiscoverResultSchema,
  "subscriptions/listen": v2.SubscriptionsListenResultSchema,
  "tools/list": v2.ListToolsResultSchema,
  "tools/call": v2.CallToolResultSchema,
  "resources/list": v2.ListResourcesResultSchema,
  "resources/templates/list": v2.ListResourceTemplatesResultSchema,
  "resources/read": v2.ReadResourceResultSchema,
  "prompts/list": v2.ListPromptsResultSchema,
  "prompts/get": v2.GetPromptResultSchema,
  "completion/complete": v2.CompleteResultSchema,
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// An error for a message without a readable id, which the official schemas omit.
const Anonymous = z.looseObject({ jsonrpc: z.literal("2.0"), id: z.null(), error: z.looseObject({ code: z.int(), message: z.string() }) });

const ModernNotification = z.union([v2.SubscriptionsAcknowledgedNotificationSchema, v2.ServerNotificationSchema]);

const AnyNotification = z.union([v1.ServerNotificationSchema, ModernNotification]);

/** `undefined`: the connection may be of either era. */
function notificationOf(isModern: boolean | undefined): z.ZodType {
  if (isModern === undefined) return AnyNotification;
  return isModern ? ModernNotification : v1.ServerNotificationSchema;
}

function fits(schema: z.ZodType, value: unknown, what: string): void {
  const { success, error } = schema.safeParse(value);
  assert.ok(success, `${what} does not fit its schema: ${error?.message.slice(0, 1_000)}\n${JSON.stringify(value).slice(0, 1_000)}`);
}

/**
 * Validates one message of a server by the official schemas of its era. `request`: the client's request, which selects the schema of
 * the result.
 */
export function validateMessage(message: string | Uint8Array, request?: { readonly method: unknown; readonly isModern: boolean }): unknown {
  const value = strictJson(message);
  for (const one of Array.isArray(value) ? value : [value]) validateOne(one, request);
  return value;
}

function validateOne(message: unknown, request: { readonly method: unknown; readonly isModern: boolean } | undefined): void {
  if (!isObject(message) || !("jsonrpc" in message)) return;
  if ("method" in message) {
    fits(z.union([v1.JSONRPCRequestSchema, v1.JSONRPCNotificationSchema]), message, "a message of the server");
    const about = { method: message["method"], params: message["params"] };
    if ("id" in message) fits(v1.ServerRequestSchema, about, "a request of the server");
    // Notifications of the tasks extension have no official schema.
    else if (!String(message["method"]).startsWith("notifications/tasks")) fits(notificationOf(request?.isModern), about, "a notification");
    return;
  }
  if ("error" in message) return fits(message["id"] === null ? Anonymous : v1.JSONRPCErrorResponseSchema, message, "an error");
  fits(v1.JSONRPCResultResponseSchema, message, "a response");
  const { result } = message;
  if (request === undefined || (isObject(result) && (result["resultType"] ?? "complete") !== "complete")) return;
  const schema = (request.isModern ? modern : legacy)[String(request.method)];
  if (schema !== undefined) fits(schema, result, `the result of ${String(request.method)}`);
}

/** The part of a client's request that its answer is validated by. */
export function requestIn(body: unknown, version?: string | null): { readonly method: unknown; readonly isModern: boolean } | undefined {
  let message: unknown = body;
  try {
    if (typeof body === "string") message = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (!isObject(message) || message["method"] === undefined) return undefined;
  return { method: message["method"], isModern: version === "2026-07-28" };
}

/** A violation fails the test, even if the client ignores it. */
function reported(judging: () => void): void {
  try {
    judging();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** `fetch` that validates answers before the client reads them. */
export const validatingFetch =
  (inner: Fetch = fetch): Fetch =>
  async (url, init) => {
    const response = await inner(url, init);
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    if (response.body === null || !(isStream || type.startsWith("application/json"))) return response;
    const request = requestIn(init?.body, new Headers(init?.headers).get("mcp-protocol-version"));
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let text = "";
    const judgeEvents = (): void => {
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        const data = event.match(/^data: (.+)$/m)?.[1];
        if (data !== undefined && !/^event: (?!message$)/m.test(event)) validateMessage(data, request);
      }
    };
    const judging = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        reported(() => {
          text += utf8.decode(chunk, { stream: true });
          if (isStream) judgeEvents();
        });
        controller.enqueue(chunk);
      },
      flush() {
        if (!isStream) reported(() => void validateMessage(text, request));
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(judging), { status, statusText, headers });
  };
