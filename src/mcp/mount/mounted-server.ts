// Owns: one mounted server as a source: its handshake, which of its parts handles which message, and requests with a short time limit.
// Does not own: one server per principal (from-mcp-server.ts), calls (calls.ts), lists (listing.ts).
import {
  type CallOptions,
  type Catalogue,
  type Clock,
  type Closable,
  type ContentOf,
  type Dirty,
  EngineError,
  isJsonObject,
  type Json,
  type JsonObject,
  type LogLevel,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  systemEntropy,
  type Viewer,
} from "../../core/contract/index.ts";
import { withTimeout } from "../../core/contract/internal.ts";
import { Calls, EVERY_CAPABILITY } from "./calls.ts";
import { faultOf, METHOD_NOT_FOUND } from "./failures.ts";
import { Lists } from "./listing.ts";
import { defaultAuthInfo, type McpServerOptions, type SdkServer } from "./options.ts";
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

interface Limit {
  readonly clock: Clock;
  readonly ms: number;
  /** Runs if the time is over first. */
  readonly onTimeout?: () => void;
}

/** Rejects with `WORK_TIMEOUT` after `ms`, with a message that says what the server did not do. */
export const inTime = <T>({ clock, ms, onTimeout }: Limit, didNot: string, done: Promise<T>): Promise<T> =>
  withTimeout(clock, ms, done, () => {
    onTimeout?.();
    throw new EngineError("WORK_TIMEOUT", `The server behind this ${didNot} within ${ms} ms.`);
  });

/** The newest revision with a handshake, which both versions of the SDK speak on a transport. */
const REVISION = "2025-11-25";

interface ConversationOptions {
  readonly server: SdkServer;
  readonly wire: Wire;
  readonly clock: Clock;
  readonly options: McpServerOptions;
  /** For whom the handshake is made. */
  readonly viewer: Viewer;
  readonly fault: (error: unknown) => void;
}

/** The messages between client and server except calls: the handshake, and requests with a short time limit. */
class Conversation {
  readonly #settings: ConversationOptions;
  readonly #listMs: number;
  /** The result of the handshake; rejects with why it failed. */
  readonly connected: Promise<JsonObject>;
  #handshake: JsonObject = {};

  constructor(settings: ConversationOptions) {
    this.#settings = settings;
    this.#listMs = settings.options.listMs ?? 10_000;
    this.connected = this.#connect();
    // Later requests report the error.
    this.connected.catch(() => undefined);
  }

  get capabilities(): JsonObject | undefined {
    return objectIn(this.#handshake, "capabilities");
  }

  get instructions(): string | undefined {
    const text = this.#handshake["instructions"];
    return this.#settings.options.instructions ?? (typeof text === "string" ? text : undefined);
  }

  /** Rejects with a `TroupeError`. */
  async ask(method: string, params: JsonObject, viewer: Viewer): Promise<JsonObject> {
    try {
      await this.connected;
      return await this.request(method, params, viewer);
    } catch (error) {
      throw faultOf(error, method);
    }
  }

  /** May reject with an `RpcError`. */
  request(method: string, params: JsonObject, viewer: Viewer): Promise<JsonObject> {
    const { wire } = this.#settings;
    const { id, result } = wire.request(method, () => params, this.extra(viewer));
    return this.#inTime(method, result, () => wire.cancel(id, "It took too long."));
  }

  /** What the SDK passes to handlers about the caller. */
  extra(viewer: Viewer): object {
    const authInfo = (this.#settings.options.authInfo ?? defaultAuthInfo)(viewer);
    return authInfo === undefined ? {} : { authInfo };
  }

  async close(): Promise<void> {
    try {
      // With a time limit, since the server may never close.
      await this.#inTime("close", this.#settings.server.close());
    } catch (error) {
      this.#settings.fault(error);
    } finally {
      await this.#settings.wire.close();
    }
  }

  async #connect(): Promise<JsonObject> {
    const { server, wire, options, viewer, fault } = this.#settings;
    await this.#inTime("connect", server.connect(wire));
    const capabilities = options.clientCapabilities ?? EVERY_CAPABILITY;
    const params = { protocolVersion: REVISION, capabilities, clientInfo: { name: "troupe", version: "1" } };
    this.#handshake = await this.request("initialize", params, viewer);
    wire.notify("notifications/initialized", {});
    // Everything is requested, since each client sets its own level.
    if (this.capabilities?.["logging"] !== undefined) this.request("logging/setLevel", { level: "debug" }, viewer).catch(fault);
    return this.#handshake;
  }

  #inTime<T>(what: string, done: Promise<T>, onTimeout?: () => void): Promise<T> {
    const limit = { clock: this.#settings.clock, ms: this.#listMs, ...(onTimeout === undefined ? undefined : { onTimeout }) };
    return inTime(limit, `did not answer ${what}`, done);
  }
}

/** The member, if it is an object. */
function objectIn(bag: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = bag?.[key];
  return isJsonObject(value) ? value : undefined;
}
