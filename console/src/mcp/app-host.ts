// Owns: the host's side of an MCP App (revision 2026-01-26): messages from and to its frame, and how many of them it answers.
// Does not own: the frame (ui/app-frame.tsx), what answers its calls (an `AppServer`), how limits count (app-limits.ts).
//
// The official bridge is not used: with its validation library it is larger than the console.
import type { JsonObject } from "../../../src/core/contract/index.ts";
import { objectIn, textIn } from "../json.ts";
import { isBoundedObject, TokenBucket } from "./app-limits.ts";

const REVISION = "2026-01-26";
const BLOCKED = "troupe/notifications/blocked";

/** What an app may use of its server. Rejections are answered with their message. */
export interface AppServer {
  readonly callTool: (name: string, args: JsonObject) => Promise<JsonObject>;
  readonly readResource: (uri: string) => Promise<JsonObject>;
  readonly list: (method: ListMethod, params: JsonObject) => Promise<JsonObject>;
}

export type ListMethod = "resources/list" | "resources/templates/list" | "prompts/list";

export type DisplayMode = "inline" | "fullscreen";

/** What the app was opened with: the call of its tool. */
export interface AppCall {
  readonly tool: JsonObject;
  readonly arguments: JsonObject;
  /** Absent: the call has not ended. */
  readonly result?: JsonObject;
  readonly cancelled?: string;
}

export interface AppHooks {
  readonly send: (message: JsonObject) => void;
  readonly context: () => JsonObject;
  /** Every message in either direction. */
  readonly onMessage: (from: "app" | "host", method: string, content: JsonObject) => void;
  readonly onReady: () => void;
  readonly onSize: (height: number) => void;
  readonly onMode: (mode: string) => DisplayMode;
  readonly onBlocked: (directive: string, uri: string) => void;
  /** It did too much, or closed itself: its frame is to be removed. */
  readonly onStop: (why: string) => void;
  readonly onModelContext: (content: JsonObject) => void;
  /** Asks the user. */
  readonly openLink: (url: string) => Promise<boolean>;
  readonly sendMessage: (content: JsonObject) => Promise<boolean>;
}

const MAX_RUNNING = 8;
const MAX_READ = 32;
const MAX_LOADS = 20;
const MAX_REFUSALS = 3;

const FAILED = -32_000;
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class AppHost {
  readonly #hooks: AppHooks;
  readonly #server: AppServer;
  readonly #messages = new TokenBucket(300, 100);
  readonly #calls = new TokenBucket(30, 10);
  readonly #read = new Set<string>();
  #call: AppCall | undefined;
  #initialized = false;
  #sentInput = false;
  #sentResult = false;
  #stopped = false;
  #running = 0;
  #loads = 0;
  #asking = false;
  #refusals = 0;

  constructor(server: AppServer, call: AppCall | undefined, hooks: AppHooks) {
    this.#server = server;
    this.#call = call;
    this.#hooks = hooks;
  }

  /** Its frame has loaded a document: the first, or one that it went to by itself. */
  loaded(): void {
    this.#loads += 1;
    if (this.#loads > MAX_LOADS) this.#stop("It loaded its page again and again.");
  }

  /** What its frame posted, which may be anything. */
  receive(data: unknown): void {
    if (this.#stopped) return;
    if (!this.#messages.take()) return this.#stop("It sent more than 100 messages a second.");
    if (!isBoundedObject(data)) return this.#stop("It sent a message that is no JSON, or longer than a megabyte.");
    const { id, method } = data;
    if (data["jsonrpc"] !== "2.0" || typeof method !== "string") return;
    const params = objectIn(data, "params");
    this.#hooks.onMessage("app", method, params);
    if (typeof id === "string" || typeof id === "number") void this.#answer(id, method, params);
    else this.#notified(method, params);
  }

  /** The call that it shows has ended, or is another. */
  show(call: AppCall | undefined): void {
    if (call?.arguments !== this.#call?.arguments) this.#sentInput = this.#sentResult = false;
    this.#call = call;
    this.#deliver();
  }

  /** Members of the host's context that have changed. */
  contextChanged(changed: JsonObject): void {
    if (this.#initialized) this.#notify("ui/notifications/host-context-changed", changed);
  }

  /** What it has read may have changed. Apps cannot subscribe, so each resource counts as subscribed to. */
  resourcesChanged(): void {
    if (this.#initialized) for (const uri of this.#read) this.#notify("notifications/resources/updated", { uri });
  }

  #stop(why: string): void {
    this.#stopped = true;
    this.#hooks.onStop(why);
  }

  #notify(method: string, params: JsonObject): void {
    this.#hooks.onMessage("host", method, params);
    this.#hooks.send({ jsonrpc: "2.0", method, params });
  }

  /** In this order, once each, after the app has said that it is ready. */
  #deliver(): void {
    const call = this.#call;
    if (!this.#initialized || call === undefined) return;
    if (!this.#sentInput) this.#notify("ui/notifications/tool-input", { arguments: call.arguments });
    this.#sentInput = true;
    if (this.#sentResult) return;
    if (call.result !== undefined) this.#notify("ui/notifications/tool-result", call.result);
    else if (call.cancelled !== undefined) this.#notify("ui/notifications/tool-cancelled", { reason: call.cancelled });
    else return;
    this.#sentResult = true;
  }

  #notified(method: string, params: JsonObject): void {
    if (method === "ui/notifications/initialized") {
      this.#initialized = true;
      this.#hooks.onReady();
      this.#deliver();
    } else if (method === "ui/notifications/size-changed") {
      const { height } = params;
      if (typeof height === "number" && Number.isFinite(height)) this.#hooks.onSize(height);
    } else if (method === "ui/notifications/request-teardown") this.#stop("It closed itself.");
    else if (method === BLOCKED) this.#hooks.onBlocked(textIn(params, "directive") ?? "", textIn(params, "uri") ?? "");
  }

  async #answer(id: string | number, method: string, params: JsonObject): Promise<void> {
    let answer: JsonObject;
    try {
      answer = { jsonrpc: "2.0", id, result: await this.#result(method, params) };
    } catch (error) {
      const code = error instanceof Refusal ? error.code : FAILED;
      answer = { jsonrpc: "2.0", id, error: { code, message: error instanceof Error ? error.message : String(error) } };
    }
    if (this.#stopped) return;
    const { id: _id, jsonrpc: _version, ...content } = answer;
    this.#hooks.onMessage("host", `answer to ${method}`, content);
    this.#hooks.send(answer);
  }

  async #result(method: string, params: JsonObject): Promise<JsonObject> {
    switch (method) {
      case "ping":
        return {};
      case "ui/initialize":
        // Also of a document that was loaded again: it has nothing of what the one before got.
        this.#initialized = this.#sentInput = this.#sentResult = false;
        return {
          protocolVersion: REVISION,
          hostInfo: { name: "troupe-console", title: "Troupe console", version: "1.0.0" },
          hostCapabilities: {
            openLinks: {},
            serverTools: {},
            serverResources: {},
            logging: {},
            updateModelContext: { text: {}, structuredContent: {} },
            message: { text: {} },
            sandbox: {},
          },
          hostContext: { ...this.#hooks.context(), ...(this.#call === undefined ? {} : { toolInfo: { tool: this.#call.tool } }) },
        };
      case "tools/call": {
        const name = textIn(params, "name");
        if (name === undefined) throw new Refusal(INVALID_PARAMS, "tools/call needs the name of a tool.");
        return await this.#limited(() => this.#server.callTool(name, objectIn(params, "arguments")));
      }
      case "resources/read": {
        const uri = textIn(params, "uri");
        if (uri === undefined) throw new Refusal(INVALID_PARAMS, "resources/read needs a uri.");
        if (this.#read.size < MAX_READ) this.#read.add(uri);
        return await this.#limited(() => this.#server.readResource(uri));
      }
      case "resources/list":
      case "resources/templates/list":
      case "prompts/list":
        return await this.#limited(() => this.#server.list(method, params));
      case "ui/request-display-mode":
        return { mode: this.#hooks.onMode(textIn(params, "mode") ?? "inline") };
      case "ui/update-model-context":
        this.#hooks.onModelContext(params);
        return {};
      case "ui/open-link": {
        const url = textIn(params, "url") ?? "";
        if (!/^https?:\/\/\S+$/i.test(url)) throw new Refusal(INVALID_PARAMS, "Only http and https links are opened.");
        return await this.#confirmed(() => this.#hooks.openLink(url));
      }
      case "ui/message":
        return await this.#confirmed(() => this.#hooks.sendMessage(params));
      default:
        throw new Refusal(METHOD_NOT_FOUND, `The console does not answer ${method.slice(0, 100)}.`);
    }
  }

  /** Requests to the server: an app that calls in a loop must not become its load. */
  async #limited(request: () => Promise<JsonObject>): Promise<JsonObject> {
    if (this.#running >= MAX_RUNNING) throw new Refusal(FAILED, `At most ${MAX_RUNNING} requests run at once: wait for an answer.`);
    if (!this.#calls.take()) throw new Refusal(FAILED, "At most 10 requests a second are sent to the server: send fewer.");
    this.#running += 1;
    try {
      return await request();
    } finally {
      this.#running -= 1;
    }
  }

  /** One question at a time; none any more where the user has refused some. */
  async #confirmed(ask: () => Promise<boolean>): Promise<JsonObject> {
    if (this.#asking || this.#refusals >= MAX_REFUSALS) return { isError: true };
    this.#asking = true;
    try {
      const agreed = await ask();
      this.#refusals = agreed ? 0 : this.#refusals + 1;
      return agreed ? {} : { isError: true };
    } finally {
      this.#asking = false;
    }
  }
}
