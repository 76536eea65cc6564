// The official clients, v1 and v2, over every transport and era, behind one small interface.
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import {
  Client as ClientV2,
  ReadBuffer,
  serializeMessage,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport as SseV1 } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as TransportV1 } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { validatingFetch } from "./message-validation.ts";
import { root } from "./serve-child.ts";

export interface ToolOutcome {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: unknown;
  readonly meta: Readonly<Record<string, unknown>>;
}

export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly annotations?: unknown;
}

/** A received notification. */
export interface Heard {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface Filter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: string[];
}

/** The operations of any of the clients. */
export interface Player extends AsyncDisposable {
  readonly name: string;
  /** `callId`: the client's id for the call. */
  call(
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: { readonly callId?: string; readonly signal?: AbortSignal },
  ): Promise<ToolOutcome>;
  tools(): Promise<readonly ListedTool[]>;
  prompts(): Promise<readonly string[]>;
  prompt(name: string, args?: Readonly<Record<string, string>>): Promise<string>;
  resources(): Promise<readonly string[]>;
  templates(): Promise<readonly string[]>;
  read(uri: string): Promise<string>;
  /** Legacy: `resources/subscribe`. */
  subscribe(uri: string): Promise<void>;
  /** Modern: `subscriptions/listen`, acknowledged. Returns what was honoured. */
  listen(filter: Filter): Promise<unknown>;
  /** Every notification so far. */
  readonly heard: readonly Heard[];
  /** All messages received after the handshake, in order. */
  readonly frames: readonly unknown[];
  readonly instructions: string | undefined;
  readonly capabilities: unknown;
}

/** A user's answer to an elicitation. */
export interface ElicitAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Record<string, string | number | boolean | string[]>;
}

/** Options of a client. */
export interface ClientOptions {
  /** HTTP: sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** HTTP: sends its requests. Default: the global `fetch`. */
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>;
  /** If present, the client supports elicitation. */
  readonly elicit?: (message: string) => Promise<ElicitAnswer> | ElicitAnswer;
}

const textOf = (content: unknown): string =>
  Array.isArray(content)
    ? content
        .flatMap((block: unknown) => (typeof block === "object" && block !== null && "text" in block ? [String(block.text)] : []))
        .join("\n")
    : "";

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

interface Sdk {
  callTool(
    params: { name: string; arguments: Record<string, unknown>; _meta?: Record<string, unknown> },
    options?: { signal?: AbortSignal },
  ): Promise<Readonly<Record<string, unknown>>>;
  listTools(): Promise<{ tools: readonly ListedTool[] }>;
  listPrompts(): Promise<{ prompts: readonly { name: string }[] }>;
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<{ messages: readonly { content: unknown }[] }>;
  listResources(): Promise<{ resources: readonly { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: readonly { uriTemplate: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: readonly Readonly<Record<string, unknown>>[] }>;
  subscribeResource(params: { uri: string }): Promise<unknown>;
  listen?(filter: Filter): Promise<{ readonly honoredFilter: unknown }>;
  getInstructions(): string | undefined;
  getServerCapabilities(): unknown;
  close(): Promise<void>;
}

interface Received {
  readonly heard: Heard[];
  readonly frames: unknown[];
}

const player = (name: string, client: Sdk, { heard, frames }: Received): Player => ({
  name,
  heard,
  frames,
  async call(tool, args = {}, { callId, signal } = {}) {
    const named = callId === undefined ? {} : { _meta: { "troupe/callId": callId } };
    const result = await client.callTool({ name: tool, arguments: { ...args }, ...named }, signal === undefined ? undefined : { signal });
    const meta = result["_meta"];
    return {
      text: textOf(result["content"]),
      isError: result["isError"] === true,
      structured: result["structuredContent"],
      meta: isObject(meta) ? { ...meta } : {},
    };
  },
  tools: async () => (await client.listTools()).tools,
  prompts: async () => (await client.listPrompts()).prompts.map((prompt) => prompt.name),
  prompt: async (prompt, args = {}) =>
    textOf((await client.getPrompt({ name: prompt, arguments: { ...args } })).messages.map((message) => message.content)),
  resources: async () => (await client.listResources()).resources.map((resource) => resource.uri),
  templates: async () => (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate),
  read: async (uri) => String((await client.readResource({ uri })).contents[0]?.["text"]),
  subscribe: async (uri) => void (await client.subscribeResource({ uri })),
  async listen(filter) {
    if (client.listen === undefined) throw new Error("SDK v1 knows no subscriptions/listen");
    return (await client.listen(filter)).honoredFilter;
  },
  get instructions() {
    return client.getInstructions();
  },
  get capabilities() {
    return client.getServerCapabilities();
  },
  [Symbol.asyncDispose]: () => client.close(),
});

/** Newline-delimited JSON over a socket, as the SDK's transports are written. */
export class SocketTransport implements TransportV1 {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #socket;
  readonly #buffer = new ReadBuffer();

  /** `tcp://127.0.0.1:4000` or `unix:/path`. */
  constructor(url: string) {
    this.#socket = url.startsWith("unix:") ? connectSocket(url.slice(5)) : connectSocket(Number(new URL(url).port), new URL(url).hostname);
  }

  async start(): Promise<void> {
    this.#socket.on("data", (chunk) => {
      this.#buffer.append(chunk);
      for (let message = this.#buffer.readMessage(); message !== null; message = this.#buffer.readMessage()) this.onmessage?.(message);
    });
    this.#socket.on("error", (error) => this.onerror?.(error));
    this.#socket.on("close", () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#socket.write(serializeMessage(message));
  }

  async close(): Promise<void> {
    this.#socket.destroy();
  }
}

export const INFO = { name: "troupe-tests", version: "1.0.0" };
export const MODERN = "2026-07-28";

export type Era = "legacy" | "modern";

/** The official clients. v1 supports the legacy era only. */
export const CLIENTS = [
  { sdk: "v1", era: "legacy" },
  { sdk: "v2", era: "legacy" },
  { sdk: "v2", era: "modern" },
] as const satisfies readonly { readonly sdk: "v1" | "v2"; readonly era: Era }[];

export type Which = (typeof CLIENTS)[number];

/** The address of a server, or the module to serve on standard streams. */
export type Way =
  | { readonly http: string }
  | { readonly sse: string }
  | { readonly tcp: string }
  | { readonly stdio: string; readonly data: string; readonly more?: readonly string[] };

const stdioCommand = (module: string, data: string, more: readonly string[]) => ({
  command: process.execPath,
  args: [join(root, "bin/troupe.js"), "serve", module, "--stdio", "--data", data, "--log", "error", ...more],
  cwd: root,
  stderr: "ignore" as const,
});

const wayName = (way: Way): string =>
  "http" in way ? "HTTP" : "sse" in way ? "HTTP+SSE" : "tcp" in way ? (way.tcp.startsWith("unix:") ? "a Unix socket" : "TCP") : "stdio";

const requestInit = ({ headers, fetch }: ClientOptions) => ({
  ...(headers === undefined ? {} : { requestInit: { headers: { ...headers } } }),
  fetch: validatingFetch(fetch),
});

const transportV1 = (way: Way, manner: ClientOptions) => {
  if ("http" in way) return new HttpV1(new URL(way.http), requestInit(manner));
  if ("sse" in way) return new SseV1(new URL(way.sse), requestInit(manner));
  if ("tcp" in way) return new SocketTransport(way.tcp);
  return new StdioV1(stdioCommand(way.stdio, way.data, way.more ?? []));
};

const transportV2 = (way: Way, manner: ClientOptions) => {
  if ("http" in way) return new HttpV2(new URL(way.http), requestInit(manner));
  if ("sse" in way) return new SseV2(new URL(way.sse), requestInit(manner));
  if ("tcp" in way) return new SocketTransport(way.tcp);
  return new StdioV2(stdioCommand(way.stdio, way.data, way.more ?? []));
};

const tap = (transport: { onmessage?: unknown }, frames: unknown[]): void => {
  const inner = transport.onmessage;
  const onmessage = (message: unknown, extra: unknown): void => {
    frames.push(message);
    if (typeof inner === "function") Reflect.apply(inner, transport, [message, extra]);
  };
  Object.assign(transport, { onmessage });
};

const listener = (heard: Heard[]) => async (notification: { method: string; params?: unknown }) => {
  heard.push({ method: notification.method, params: isObject(notification.params) ? { ...notification.params } : {} });
};

const answer = async (
  elicit: NonNullable<ClientOptions["elicit"]>,
  params: object,
): Promise<{ action: ElicitAnswer["action"]; content?: Record<string, string | number | boolean | string[]> }> => ({
  ...(await elicit("message" in params ? String(params.message) : "")),
});

const connectV1 = async (way: Way, manner: ClientOptions): Promise<Player> => {
  const { elicit } = manner;
  const client = new ClientV1(INFO, { capabilities: elicit === undefined ? {} : { elicitation: {} } });
  if (elicit !== undefined) client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(elicit, params));
  const ears: Received = { heard: [], frames: [] };
  client.fallbackNotificationHandler = listener(ears.heard);
  const transport = transportV1(way, manner);
  await client.connect(transport);
  tap(transport, ears.frames);
  const sdk: Sdk = {
    callTool: (params, options) => client.callTool(params, undefined, options),
    listTools: () => client.listTools(),
    listPrompts: () => client.listPrompts(),
    getPrompt: (params) => client.getPrompt(params),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: (params) => client.readResource(params),
    subscribeResource: (params) => client.subscribeResource(params),
    getInstructions: () => client.getInstructions(),
    getServerCapabilities: () => client.getServerCapabilities(),
    close: () => client.close(),
  };
  return player(`SDK v1 over ${wayName(way)}`, sdk, ears);
};

const connectV2 = async (way: Way, era: Era, manner: ClientOptions): Promise<Player> => {
  const { elicit } = manner;
  const client = new ClientV2(INFO, {
    capabilities: elicit === undefined ? {} : { elicitation: {} },
    versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: MODERN } },
  });
  if (elicit !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => answer(elicit, params));
  const ears: Received = { heard: [], frames: [] };
  client.fallbackNotificationHandler = listener(ears.heard);
  const transport = transportV2(way, manner);
  await client.connect(transport);
  tap(transport, ears.frames);
  const fresh = { cacheMode: "refresh" } as const;
  const sdk: Sdk = {
    callTool: (params, options) => client.callTool(params, options),
    listTools: () => client.listTools(undefined, fresh),
    listPrompts: () => client.listPrompts(undefined, fresh),
    getPrompt: (params) => client.getPrompt(params),
    listResources: () => client.listResources(undefined, fresh),
    listResourceTemplates: () => client.listResourceTemplates(undefined, fresh),
    readResource: (params) => client.readResource(params, fresh),
    subscribeResource: (params) => client.subscribeResource(params),
    listen: (filter) => client.listen({ ...filter }),
    getInstructions: () => client.getInstructions(),
    getServerCapabilities: () => client.getServerCapabilities(),
    close: () => client.close(),
  };
  return player(`SDK v2 over ${wayName(way)}, ${era}`, sdk, ears);
};

/** Connects that client to a server. */
export const connect = (way: Way, { sdk, era }: Which, manner: ClientOptions = {}): Promise<Player> =>
  sdk === "v1" ? connectV1(way, manner) : connectV2(way, era, manner);
