// Owns: the handshake with a mounted server, and requests with a short time limit.
// Does not own: calls (calls.ts), lists (listing.ts).
import { type Clock, EngineError, type JsonObject, isJsonObject, type Viewer } from "../../core/contract/index.ts";
import { withTimeout } from "../../core/contract/internal.ts";
import { defaultAuthInfo, type McpServerOptions, type SdkServer } from "./options.ts";
import { EVERY_CAPABILITY } from "./calls.ts";
import { faultOf } from "./failures.ts";
import type { Wire } from "./wire.ts";

export interface Limit {
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

export interface ConversationOptions {
  readonly server: SdkServer;
  readonly wire: Wire;
  readonly clock: Clock;
  readonly options: McpServerOptions;
  /** For whom the handshake is made. */
  readonly viewer: Viewer;
  readonly fault: (error: unknown) => void;
}

/** The messages between client and server except calls: the handshake, and requests with a short time limit. */
export class Conversation {
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
export function objectIn(bag: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = bag?.[key];
  return isJsonObject(value) ? value : undefined;
}
