import { at, isJsonObject, modern, opened, resumed, type JsonObject, type HttpAnswer } from "../wire.ts";
import type { Receipt } from "../../src/core/contract/index.ts";

/** The outcome of a tool call. */
export type CallOutcome =
  | { readonly text: string; readonly refused: boolean; readonly receipt?: Receipt }
  | { readonly fault: { readonly status: number; readonly code: unknown; readonly message: string; readonly data: unknown } };

/** A client that retains its session when its server restarts at another address. */
export interface LightClient {
  readonly era: "legacy" | "modern";
  /** Throws if the connection breaks before an answer arrives. */
  request(url: string, method: string, params: JsonObject): Promise<HttpAnswer>;
}

/** `key`: the bearer token. A legacy client has one session throughout. */
export const lightClient = (era: "legacy" | "modern", key: string | undefined): LightClient => {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  if (era === "modern") return { era, request: (url, method, params) => modern(url, method, params, headers) };
  let session: string | undefined;
  return {
    era,
    async request(url, method, params) {
      session ??= (await opened(url, headers)).id;
      return resumed(url, session, headers).request(method, params);
    },
  };
};

const receiptIn = (result: unknown): { readonly receipt?: Receipt } => {
  const receipt = at(result, "_meta", "troupe/receipt");
  if (!isJsonObject(receipt)) return {};
  const { actor, seq, head } = receipt;
  return typeof actor === "string" && typeof seq === "number" && typeof head === "string" ? { receipt: { actor, seq, head } } : {};
};

/** One call with the caller's id for it. */
export const callTool = async (
  client: LightClient,
  url: string,
  name: string,
  args: JsonObject,
  call: { readonly id: string; readonly trace: string },
): Promise<CallOutcome> => {
  const meta = { "troupe/callId": call.id, traceparent: call.trace };
  const { status, reply } = await client.request(url, "tools/call", { name, arguments: args, _meta: meta });
  const result = at(reply, "result");
  if (!isJsonObject(result)) {
    const error = at(reply, "error");
    return { fault: { status, code: at(error, "code"), message: String(at(error, "message")), data: at(error, "data") } };
  }
  return { text: String(at(result, "content", 0, "text")), refused: result["isError"] === true, ...receiptIn(result) };
};

/** The values that an argument may have now, according to the tool's list. */
export const offeredNow = async (client: LightClient, url: string): Promise<(tool: string) => readonly string[]> => {
  const { reply } = await client.request(url, "tools/list", {});
  const tools = at(reply, "result", "tools");
  const items = new Map<string, readonly string[]>();
  for (const tool of Array.isArray(tools) ? tools : []) {
    const values = at(tool, "inputSchema", "properties", "item", "enum");
    if (Array.isArray(values)) items.set(String(at(tool, "name")), values.map(String));
  }
  return (tool) => items.get(tool) ?? [];
};
