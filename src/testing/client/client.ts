import type { Closable, JsonObject } from "../../core/contract/index.ts";
import { type CallMore, type TestClientOptions, Conversation, type ServerUnderTest } from "./conversation.ts";
import { type Exchanging, type HttpCall, type HttpRequest, replyOf, TestStream } from "./http-call.ts";
import {
  objectIn,
  type Notification,
  type TestReply,
  type TestRequest,
  type Definition,
  listed,
  type PromptResult,
  type ResourceDefinition,
  type ResourceResult,
  shaped,
  shapes,
  type TemplateDefinition,
  type ToolResult,
} from "./messages.ts";
import { type Notifications, type TestEra, Wire } from "./connection.ts";
import { toolsOf } from "./tool-calls.ts";

/**
 * An MCP client in the test's own process: no socket, no time of its own. Whatever it is asked first, it initializes before.
 * What the server answers with a JSON-RPC error rejects with `RequestError`.
 *
 * @example
 * ```ts
 * import { actor } from "troupe";
 * import { testServer } from "troupe/testing";
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
 * console.log(await client.listTools());
 * await client.tools.open({});
 * ```
 */
export class TestClient<Tools = unknown> implements Closable {
  /** The tools of the kinds that are served, as functions: `client.tools.open({ door: "front" })`. For others, `callTool`. */
  readonly tools: Tools = toolsOf<Tools>(this);
  /** What the server told it unasked, on any stream. */
  readonly notifications: Notifications;
  readonly #wire: Wire;
  readonly #listens: boolean;
  readonly #conversation: Conversation;
  #begun: Promise<JsonObject> | undefined;

  constructor(served: Exchanging, options: TestClientOptions = {}, server: ServerUnderTest = {}) {
    const { era = "legacy", revision, principal = "tester", scopes = [], claims, headers = {}, answers = {}, onCall } = options;
    const caller = {
      ...(principal === null ? undefined : { principal }),
      scopes,
      ...(claims === undefined ? undefined : { claims }),
      peer: "in-process",
    };
    const { info = { name: "test-client", version: "1.0.0" }, listen = true } = options;
    this.#wire = new Wire({ served, caller, era, revision, headers, answers, onCall });
    this.#conversation = new Conversation(this.#wire, info, server);
    this.#listens = listen;
    this.notifications = this.#wire.notifications;
  }

  get era(): TestEra {
    return this.#wire.era;
  }

  /** As the server gave it last; undefined in the modern era. */
  get sessionId(): string | undefined {
    return this.#wire.session;
  }

  /** What the server asked of it, in order. */
  get asked(): readonly Notification[] {
    return this.#wire.answers.asked;
  }

  /** The result of `initialize`, or of `server/discover`; asked for once. */
  initialize(): Promise<JsonObject> {
    return (this.#begun ??= this.#conversation.begin(this.#listens));
  }

  async listTools(): Promise<readonly Definition[]> {
    const tools = await this.#list("tools/list", "tools", shapes.named);
    for (const tool of tools) this.#conversation.knows(tool.name, tool);
    return tools;
  }

  /** A result with `isError` is a result. */
  async callTool(name: string, args: JsonObject = {}, more: CallMore = {}): Promise<ToolResult> {
    return shaped("tools/call", await this.request("tools/call", { name, arguments: args }, more), shapes.toolResult);
  }

  listResources(): Promise<readonly ResourceDefinition[]> {
    return this.#list("resources/list", "resources", shapes.located);
  }

  listResourceTemplates(): Promise<readonly TemplateDefinition[]> {
    return this.#list("resources/templates/list", "resourceTemplates", shapes.templated);
  }

  async readResource(uri: string): Promise<ResourceResult> {
    return shaped("resources/read", await this.request("resources/read", { uri }), shapes.resourceResult);
  }

  /** The text of a resource's first content. Throws if it has none: `readResource` gets bytes. */
  async readText(uri: string): Promise<string> {
    const { contents } = await this.readResource(uri);
    const text = contents[0]?.["text"];
    if (typeof text !== "string") throw new Error(`${uri} has no text: read its contents with readResource().`);
    return text;
  }

  listPrompts(): Promise<readonly Definition[]> {
    return this.#list("prompts/list", "prompts", shapes.named);
  }

  async getPrompt(name: string, args: Readonly<Record<string, string>> = {}): Promise<PromptResult> {
    return shaped("prompts/get", await this.request("prompts/get", { name, arguments: args }), shapes.promptResult);
  }

  /** Values for an argument: of a prompt by its name, of a resource template by its URI. */
  async complete(ref: { readonly prompt: string } | { readonly uri: string }, argument: string, value = ""): Promise<readonly string[]> {
    const of = "prompt" in ref ? { type: "ref/prompt", name: ref.prompt } : { type: "ref/resource", uri: ref.uri };
    const result = await this.request("completion/complete", { ref: of, argument: { name: argument, value } });
    const { values } = objectIn(result, "completion");
    return Array.isArray(values) ? values.map(String) : [];
  }

  /** Hears of changes of a resource from now on. */
  async subscribe(uri: string): Promise<void> {
    if (this.era === "legacy") await this.request("resources/subscribe", { uri });
    else await this.#conversation.listen({ resourceSubscriptions: [uri] });
  }

  /** The result of any method. Pages are not followed; what the server asks on the way is answered. */
  async request(method: string, params: JsonObject = {}, more: CallMore = {}): Promise<JsonObject> {
    if (method !== "initialize") await this.initialize();
    return this.#conversation.result(method, params, more);
  }

  /** Sends a request as it is, a modern one in its envelope unless it has one; nothing goes before it. Its response, be it an error. */
  async raw(request: TestRequest, headers?: Readonly<Record<string, string>>): Promise<TestReply> {
    return replyOf(this.#conversation.post(request, headers));
  }

  /** As `raw`, event by event while it runs. */
  stream(request: TestRequest, headers?: Readonly<Record<string, string>>): TestStream {
    return new TestStream(this.#conversation.post(request, headers));
  }

  /** What followed that event on its stream, and what is still to come there. Legacy. */
  resume(lastEventId: string): TestStream {
    return new TestStream(this.#wire.get({ "last-event-id": lastEventId }));
  }

  /** A notification of the client. */
  async notify(method: string, params: JsonObject = {}): Promise<void> {
    await this.#conversation.notify(method, params);
  }

  /** Any HTTP request, with nothing added: for what no client should send. */
  http(request: HttpRequest): HttpCall {
    return this.#wire.http(request);
  }

  /** Stops reading its streams: the server sees them as not ready until `resumeReading`. */
  pauseReading(): void {
    this.#wire.pause(true);
  }

  resumeReading(): void {
    this.#wire.pause(false);
  }

  /** Ends the session, as a client that says goodbye. Legacy. */
  async endSession(): Promise<number> {
    return (await this.#wire.delete().done).status;
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  /** Goes away without a word. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#wire.leave();
  }

  async #list<T extends JsonObject>(method: string, list: string, fits: (bag: JsonObject) => bag is T): Promise<readonly T[]> {
    const all: T[] = [];
    let cursor: string | undefined;
    do {
      const page: JsonObject = await this.request(method, cursor === undefined ? {} : { cursor });
      all.push(...listed(method, page, list, fits));
      cursor = typeof page["nextCursor"] === "string" ? page["nextCursor"] : undefined;
    } while (cursor !== undefined);
    return all;
  }
}
