// Owns: one mounted server as a source: its parts, and which of them handles which message.
// Does not own: one server per principal (from-mcp-server.ts).
import {
  type Closable,
  type Json,
  type LogLevel,
  type JsonObject,
  type CallOptions,
  type Catalogue,
  type ContentOf,
  type Dirty,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  systemEntropy,
  type Viewer,
} from "../../core/contract/index.ts";
import { Calls } from "./calls.ts";
import { METHOD_NOT_FOUND } from "./failures.ts";
import { objectIn, Conversation } from "./conversation.ts";
import { Lists } from "./listing.ts";
import type { McpServerOptions, SdkServer } from "./options.ts";
import { Subscriptions } from "./subscriptions.ts";
import { Wire } from "./wire.ts";

const LEVELS: readonly LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** Unknown levels count as `info`. */
function levelOf(given: Json | undefined): LogLevel {
  return LEVELS.find((level) => level === given) ?? "info";
}

const UNKNOWN_OFFER: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };

/** One server of the SDK over one connection of its own. */
export class MountedServer implements Source, Closable {
  readonly #options: McpServerOptions;
  readonly #wire: Wire;
  readonly #conversation: Conversation;
  readonly #calls: Calls;
  readonly #subscriptions: Subscriptions;
  readonly #lists: Lists;
  #surface: Surface | undefined;

  /** `viewer`: for whom the handshake is made and lists are read. */
  constructor(server: SdkServer, options: McpServerOptions, viewer: Viewer, sessionId?: string) {
    const { clock = systemClock, entropy = systemEntropy, maxLength = 4 * 1_048_576, maxListed = 10_000 } = options;
    const fault = (error: unknown): void => options.onFault?.(error);
    const wire = new Wire(
      {
        request: (id, method, params, within) => this.#onRequest(id, method, params, within),
        notification: (method, params, within) => this.#onNotification(method, params, within),
        closed: () => this.#calls.close(),
        fault,
      },
      maxLength,
    );
    if (sessionId !== undefined) wire.sessionId = sessionId;
    this.#options = options;
    this.#wire = wire;
    this.#calls = new Calls({ wire, clock, entropy, options });
    // These handle the server's messages, so they are created before it connects.
    this.#subscriptions = new Subscriptions({
      subscribes: async (ref) => {
        await this.ready;
        if (objectIn(this.#conversation.capabilities, "resources")?.["subscribe"] !== true) return false;
        // Where several sources are merged, each is notified of listeners to the others' resources.
        return (await this.#lists.get()).offers.has(ref);
      },
      ask: (method, params, subscriber) => this.#conversation.ask(method, params, subscriber),
      fault,
    });
    this.#lists = new Lists({
      connected: () => this.#conversation.connected,
      ask: (method, params) => this.#conversation.request(method, params, viewer),
      maxListed,
      fault,
    });
    this.#conversation = new Conversation({ server, wire, clock, options, viewer, fault });
  }

  /** Settles once the handshake is done; rejects with why it failed. */
  get ready(): Promise<void> {
    return this.#conversation.connected.then(() => undefined);
  }

  get closed(): boolean {
    return this.#wire.closed;
  }

  /** A call runs, or waits for its client. */
  get busy(): boolean {
    return this.#calls.busy;
  }

  get instructions(): string | undefined {
    return this.#conversation.instructions;
  }

  catalogue(): Catalogue | undefined {
    return this.#lists.known?.catalogue;
  }

  async surface(): Promise<Surface> {
    const { catalogue } = await this.#lists.get();
    if (this.#surface?.catalogue !== catalogue) this.#surface = { catalogue, off: {} };
    return this.#surface;
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    const { offers } = await this.#lists.get();
    return offers.has(ref) ? this.#calls.act(viewer, ref, args, options, this.#conversation.extra(viewer)) : UNKNOWN_OFFER;
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents = true): () => void {
    return this.#subscriptions.watch(viewer, dirty, only, contents);
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: JsonObject): Promise<readonly string[]> {
    const { offers } = await this.#lists.get();
    if (!offers.has(ref) || this.#conversation.capabilities?.["completions"] === undefined) return [];
    const name = ref.slice(ref.indexOf("/") + 1);
    const about = ref.startsWith("prompts/") ? { type: "ref/prompt", name } : { type: "ref/resource", uri: name };
    const context = Object.keys(others).length === 0 ? undefined : { context: { arguments: others } };
    const params = { ref: about, argument: { name: argument, value }, ...context };
    const values = objectIn(await this.#conversation.ask("completion/complete", params, viewer), "completion")?.["values"];
    return Array.isArray(values) ? values.filter((one) => typeof one === "string") : [];
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#conversation.close();
  }

  #onRequest(id: number | string, method: string, params: JsonObject, within: number | undefined): void {
    if (method === "ping") return this.#wire.respond(id, { result: {} });
    if (this.#calls.onRequest(id, method, params, within)) return;
    this.#wire.respond(id, { error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` } });
  }

  #onNotification(method: string, params: JsonObject, within: number | undefined): void {
    if (method === "notifications/resources/updated") {
      if (typeof params["uri"] === "string") this.#subscriptions.updated(params["uri"]);
    } else if (method.endsWith("/list_changed")) {
      this.#lists.changed();
      this.#subscriptions.changed();
    } else if (method === "notifications/message") this.#onLog(params, within);
    else this.#calls.onNotification(method, params);
  }

  #onLog({ level, data = null, logger }: JsonObject, within: number | undefined): void {
    const call = this.#calls.options(within);
    const log = call === undefined ? this.#options.onLog : call.onLog;
    log?.(levelOf(level), data, ...(typeof logger === "string" ? [logger] : []));
  }
}
