// Owns: `TestClient`, the methods that tests call. Does not own: its requests (conversation.ts), its connection (connection.ts).
import { checkOptions, type OptionTable, FUNCTION, TEXTS, type Closable, type JsonObject } from "../../core/contract/index.ts";
import { ClientConnection, type Notifications, type TestEra } from "./connection.ts";
import { type CallMore, Conversation, type ServerUnderTest, type TestClientOptions } from "./conversation.ts";
import { type Exchanging, type HttpCall, type HttpRequest, replyOf, TestStream } from "./http-call.ts";
import {
  type Definition,
  listed,
  type Notification,
  objectIn,
  type PromptResult,
  type ResourceDefinition,
  type ResourceResult,
  shaped,
  shapes,
  type TemplateDefinition,
  type TestReply,
  type TestRequest,
  type ToolResult,
} from "./messages.ts";
import { toolsOf } from "./tool-calls.ts";

const OPTIONS: OptionTable<TestClientOptions> = {
  era: true,
  revision: true,
  principal: true,
  scopes: TEXTS,
  claims: true,
  answers: true,
  listen: true,
  headers: true,
  info: true,
  onCall: FUNCTION,
};

/**
 * An MCP client in the test's process, without sockets and timers. It initializes before its first request. A call that the server
 * answers with a JSON-RPC error rejects with `RequestError`.
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
  /** The notifications of the server, on any stream. */
  readonly notifications: Notifications;
  readonly #connection: ClientConnection;
  readonly #listens: boolean;
  readonly #conversation: Conversation;
  #begun: Promise<JsonObject> | undefined;

  constructor(served: Exchanging, options: TestClientOptions = {}, server: ServerUnderTest = {}) {
    // `kinds` are for the types only.
    checkOptions("A test client", options, OPTIONS, ["kinds"]);
    const { era = "legacy", revision, principal = "tester", scopes = [], claims, headers = {}, answers = {}, onCall } = options;
    const caller = {
      ...(principal === null ? undefined : { principal }),
      scopes,
      ...(claims === undefined ? undefined : { claims }),
      peer: "in-process",
    };
    const { info = { name: "test-client", version: "1.0.0" }, listen = true } = options;
    this.#connection = new ClientConnection({ served, caller, era, revision, headers, answers, onCall });
    this.#conversation = new Conversation(this.#connection, info, server);
    this.#listens = listen;
    this.notifications = this.#connection.notifications;
  }

  get era(): TestEra {
    return this.#connection.era;
  }

  /** The session's id, as the server last sent it. Undefined in the modern era. */
  get sessionId(): string | undefined {
    return this.#connection.session;
  }

  /** The questions of the server, in order. */
  get asked(): readonly Notification[] {
    return this.#connection.answers.questions;
  }

  /** The result of `initialize`, or of `server/discover`. Requested once. */
  initialize(): Promise<JsonObject> {
    return (this.#begun ??= this.#conversation.begin(this.#listens));
  }

  async listTools(): Promise<readonly Definition[]> {
    const tools = await this.#list("tools/list", "tools", shapes.named);
    for (const tool of tools) this.#conversation.knows(tool.name, tool);
    return tools;
  }

  /** A result with `isError` does not reject. */
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

  /** The text of a resource's first content. Throws if it has none: use `readResource` for bytes. */
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

  /** Completions for an argument of a prompt (by its name) or of a resource template (by its URI). */
  async complete(ref: { readonly prompt: string } | { readonly uri: string }, argument: string, value = ""): Promise<readonly string[]> {
    const of = "prompt" in ref ? { type: "ref/prompt", name: ref.prompt } : { type: "ref/resource", uri: ref.uri };
    const result = await this.request("completion/complete", { ref: of, argument: { name: argument, value } });
    const { values } = objectIn(result, "completion");
    return Array.isArray(values) ? values.map(String) : [];
  }

  /** Subscribes to changes of a resource. */
  async subscribe(uri: string): Promise<void> {
    if (this.era === "legacy") await this.request("resources/subscribe", { uri });
    else await this.#conversation.listen({ resourceSubscriptions: [uri] });
  }

  /** The result of any method. Pages are not followed. Questions of the server meanwhile are answered. */
  async request(method: string, params: JsonObject = {}, more: CallMore = {}): Promise<JsonObject> {
    if (method !== "initialize") await this.initialize();
    return this.#conversation.result(method, params, more);
  }

  /** Sends a request unchanged, without initializing first; a modern one gets its envelope unless it has one. Returns its response, which may be an error. */
  async raw(request: TestRequest, headers?: Readonly<Record<string, string>>): Promise<TestReply> {
    return replyOf(this.#conversation.post(request, headers));
  }

  /** Like `raw`, but returns the events of the response as they arrive. */
  stream(request: TestRequest, headers?: Readonly<Record<string, string>>): TestStream {
    return new TestStream(this.#conversation.post(request, headers));
  }

  /** Resumes a stream after that event. Legacy era. */
  resume(lastEventId: string): TestStream {
    return new TestStream(this.#connection.get({ "last-event-id": lastEventId }));
  }

  /** Sends a notification. */
  async notify(method: string, params: JsonObject = {}): Promise<void> {
    await this.#conversation.notify(method, params);
  }

  /** Sends any HTTP request unchanged, say an invalid one. */
  http(request: HttpRequest): HttpCall {
    return this.#connection.http(request);
  }

  /** Stops reading its streams: to the server they are not ready until `resumeReading`. */
  pauseReading(): void {
    this.#connection.pause(true);
  }

  resumeReading(): void {
    this.#connection.pause(false);
  }

  /** Ends the session with a DELETE request, and returns its status. Legacy era. */
  async endSession(): Promise<number> {
    return (await this.#connection.delete().done).status;
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  /** Disconnects without ending the session. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.leave();
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
