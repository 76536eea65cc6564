import { type Clock, EngineError, type Bag, isBag, type Viewer } from "../../core/contract/index.ts";
import { defaultAuthInfo, type McpServerOptions, type SdkServer } from "./options.ts";
import { EVERY_CAPABILITY } from "./calls.ts";
import { faultOf } from "./failures.ts";
import type { Wire } from "./wire.ts";

// Owns: the handshake with a mounted server, and requests that are answered at once or not at all.
// Does not own: calls (calls.ts), lists (listing.ts).

export interface Limit {
  readonly clock: Clock;
  readonly ms: number;
  /** Runs where that is over first. */
  readonly late?: () => void;
}

/** What a server does in time. Rejects with `WORK_TIMEOUT`: the server `did not` that. */
export async function inTime<T>({ clock, ms, late }: Limit, didNot: string, done: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const undo = clock.after(ms, () => {
    late?.();
    reject(new EngineError("WORK_TIMEOUT", `The server behind this ${didNot} within ${ms} ms.`));
  });
  try {
    return await Promise.race([done, promise]);
  } finally {
    undo();
  }
}

/** The newest revision with a handshake, which both versions of the SDK speak on a transport. */
const REVISION = "2025-11-25";

export interface ConversationOptions {
  readonly server: SdkServer;
  readonly wire: Wire;
  readonly clock: Clock;
  readonly options: McpServerOptions;
  /** In whose name the server is greeted. */
  readonly whose: Viewer;
  readonly fault: (error: unknown) => void;
}

/** What a client and a server say to each other beside calls: the handshake, and what is answered in a moment or not at all. */
export class Conversation {
  readonly #own: ConversationOptions;
  readonly #listMs: number;
  /** What the server said of itself; rejects with why it did not. */
  readonly connected: Promise<Bag>;
  #said: Bag = {};

  constructor(own: ConversationOptions) {
    this.#own = own;
    this.#listMs = own.options.listMs ?? 10_000;
    this.connected = this.#connect();
    // Whoever asks for something hears of it.
    this.connected.catch(() => undefined);
  }

  get capabilities(): Bag | undefined {
    return bagIn(this.#said, "capabilities");
  }

  get instructions(): string | undefined {
    const said = this.#said["instructions"];
    return this.#own.options.instructions ?? (typeof said === "string" ? said : undefined);
  }

  /** Rejects with a `TroupeError`. */
  async ask(method: string, params: Bag, viewer: Viewer): Promise<Bag> {
    try {
      await this.connected;
      return await this.request(method, params, viewer);
    } catch (error) {
      throw faultOf(error, method);
    }
  }

  /** Rejects with an `RpcError`, too. */
  request(method: string, params: Bag, viewer: Viewer): Promise<Bag> {
    const { wire } = this.#own;
    const { id, result } = wire.request(method, () => params, this.extra(viewer));
    return this.#inTime(method, result, () => wire.cancel(id, "It took too long."));
  }

  /** What the SDK hands a handler of who asks. */
  extra(viewer: Viewer): object {
    const authInfo = (this.#own.options.authInfo ?? defaultAuthInfo)(viewer);
    return authInfo === undefined ? {} : { authInfo };
  }

  async close(): Promise<void> {
    try {
      // Also one that does not end must not hold up whoever closes it.
      await this.#inTime("close", this.#own.server.close());
    } catch (error) {
      this.#own.fault(error);
    } finally {
      await this.#own.wire.close();
    }
  }

  async #connect(): Promise<Bag> {
    const { server, wire, options, whose, fault } = this.#own;
    await this.#inTime("connect", server.connect(wire));
    const capabilities = options.clientCapabilities ?? EVERY_CAPABILITY;
    const hello = { protocolVersion: REVISION, capabilities, clientInfo: { name: "troupe", version: "1" } };
    this.#said = await this.request("initialize", hello, whose);
    wire.notify("notifications/initialized", {});
    // From which level on, its own client says; what nobody wants is dropped here.
    if (this.capabilities?.["logging"] !== undefined) this.request("logging/setLevel", { level: "debug" }, whose).catch(fault);
    return this.#said;
  }

  #inTime<T>(what: string, done: Promise<T>, late?: () => void): Promise<T> {
    const limit = { clock: this.#own.clock, ms: this.#listMs, ...(late === undefined ? undefined : { late }) };
    return inTime(limit, `did not answer ${what}`, done);
  }
}

/** That member, where it is an object. */
export function bagIn(bag: Bag | undefined, key: string): Bag | undefined {
  const value = bag?.[key];
  return isBag(value) ? value : undefined;
}
