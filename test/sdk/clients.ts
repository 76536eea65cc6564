// The official clients with complete answers, over each transport.
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import type { Gateway } from "troupe/contract";
import { connectInMemory, type MemoryClient } from "troupe/transport";
import { INFO, MODERN, type Which } from "../clients.ts";
import type { Everything } from "./everything.ts";

/** How a server is reached: directly, over the SDK's own transport, or through Troupe, in process or over HTTP. */
export type Place =
  | { readonly direct: Everything["connect"] }
  | { readonly gateway: Gateway; readonly principal?: string }
  | { readonly http: string };

export interface Progressed {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface Asker extends AsyncDisposable {
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: { readonly onprogress?: (step: Progressed) => void; readonly signal?: AbortSignal },
  ): Promise<unknown>;
  tools(): Promise<unknown>;
  resources(): Promise<unknown>;
  templates(): Promise<unknown>;
  prompts(): Promise<unknown>;
  read(uri: string): Promise<unknown>;
  prompt(name: string, args?: Record<string, string>): Promise<unknown>;
  complete(
    ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string },
    argument: { name: string; value: string },
  ): Promise<unknown>;
  /** Subscribes to one resource and all lists, as in the era. */
  subscribe(uri: string): Promise<unknown>;
  readonly heard: readonly { readonly method: string; readonly params?: unknown }[];
  readonly instructions: string | undefined;
}

/** A transport of the SDK's clients to a gateway in this process. */
class InProcess {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #client: MemoryClient;

  constructor(gateway: Gateway, principal: string) {
    this.#client = connectInMemory(gateway, { principal, scopes: ["read"] });
  }

  async start(): Promise<void> {
    this.#client.onMessage((text) => this.onmessage?.(JSONRPCMessageSchema.parse(JSON.parse(text))));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#client.send(message);
  }

  async close(): Promise<void> {
    await this.#client.close();
    this.onclose?.();
  }
}

/** A user's answer; without it the client does not support elicitation. */
export interface Answers {
  readonly elicitation: { action: "accept" | "decline"; content?: Record<string, string | boolean> };
}

const SAMPLE = { role: "assistant" as const, model: "m", content: { type: "text" as const, text: "42" } };
const ROOTS = { roots: [{ uri: "file:///home", name: "home" }] };
const CAN = { elicitation: {}, sampling: {}, roots: {} };

export async function meet(place: Place, { sdk, era }: Which, answers?: Answers): Promise<Asker> {
  return sdk === "v1" ? meetV1(place, answers) : meetV2(place, era, answers);
}

async function meetV1(place: Place, answers: Answers | undefined): Promise<Asker> {
  const client = new ClientV1(INFO, { capabilities: answers === undefined ? {} : CAN });
  if (answers !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, () => answers.elicitation);
    client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLE);
    client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  }
  const heard: { method: string; params?: unknown }[] = [];
  client.fallbackNotificationHandler = async (one) => void heard.push(one);
  if ("direct" in place) {
    const [near, far] = InMemoryTransport.createLinkedPair();
    await place.direct(far);
    await client.connect(near);
  } else await client.connect("http" in place ? new HttpV1(new URL(place.http)) : new InProcess(place.gateway, place.principal ?? "ada"));
  return {
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
    tools: () => client.listTools(),
    resources: () => client.listResources(),
    templates: () => client.listResourceTemplates(),
    prompts: () => client.listPrompts(),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args = {}) => client.getPrompt({ name, arguments: args }),
    complete: (ref, argument) => client.complete({ ref, argument }),
    subscribe: (uri) => client.subscribeResource({ uri }),
    heard,
    get instructions() {
      return client.getInstructions();
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function meetV2(place: Place, era: Which["era"], answers: Answers | undefined): Promise<Asker> {
  // A plain SDK server uses the legacy era on a connection.
  const mode = era === "legacy" || "direct" in place ? "legacy" : { pin: MODERN };
  const client = new ClientV2(INFO, { capabilities: answers === undefined ? {} : CAN, versionNegotiation: { mode } });
  if (answers !== undefined) {
    client.setRequestHandler("elicitation/create", () => answers.elicitation);
    client.setRequestHandler("sampling/createMessage", () => SAMPLE);
    client.setRequestHandler("roots/list", () => ROOTS);
  }
  const heard: { method: string; params?: unknown }[] = [];
  client.fallbackNotificationHandler = async (one) => void heard.push(one);
  if ("direct" in place) {
    const [near, far] = InMemoryTransport.createLinkedPair();
    await place.direct(far);
    await client.connect(near);
  } else await client.connect("http" in place ? new HttpV2(new URL(place.http)) : new InProcess(place.gateway, place.principal ?? "ada"));
  const fresh = { cacheMode: "refresh" } as const;
  return {
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options),
    tools: () => client.listTools(undefined, fresh),
    resources: () => client.listResources(undefined, fresh),
    templates: () => client.listResourceTemplates(undefined, fresh),
    prompts: () => client.listPrompts(undefined, fresh),
    read: (uri) => client.readResource({ uri }, fresh),
    prompt: (name, args = {}) => client.getPrompt({ name, arguments: args }),
    complete: (ref, argument) => client.complete({ ref, argument }),
    subscribe: (uri) =>
      mode === "legacy"
        ? client.subscribeResource({ uri })
        : client.listen({ toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true, resourceSubscriptions: [uri] }),
    heard,
    get instructions() {
      return client.getInstructions();
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
