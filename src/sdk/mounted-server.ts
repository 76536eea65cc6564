import {
  type Bag,
  type CallOptions,
  type Catalogue,
  type Clock,
  EngineError,
  type Entropy,
  isBag,
  type Json,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  systemClock,
  systemEntropy,
  type Viewer,
} from "../contract/index.ts";
import { defaultAuthInfo } from "./auth-info.ts";
import { Calls } from "./calls.ts";
import { EVERY_CAPABILITY } from "./client-requests.ts";
import { METHOD_NOT_FOUND } from "./codes.ts";
import { faultOf } from "./failures.ts";
import { Lists } from "./lists.ts";
import type { McpServerOptions } from "./options.ts";
import type { SdkServer } from "./sdk-server.ts";
import { Subscriptions } from "./subscriptions.ts";
import { levelOf } from "./log-level.ts";
import { Wire } from "./wire.ts";

const NOTHING: Reply = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };
/** The newest revision with a handshake, which both versions of the SDK speak on a transport. */
const REVISION = "2025-11-25";

/** One server of the SDK over one connection of its own. */
export class MountedServer implements Source, AsyncDisposable {
  readonly #server: SdkServer;
  readonly #options: McpServerOptions;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #wire: Wire;
  readonly #calls: Calls;
  readonly #subscriptions: Subscriptions;
  readonly #connected: Promise<Bag>;
  /** Whose lists are read, where the server looks. */
  readonly #whose: Viewer;
  #said: Bag = {};
  readonly #lists: Lists;
  #surface: Surface | undefined;

  constructor(server: SdkServer, options: McpServerOptions, whose: Viewer, sessionId?: string) {
    this.#server = server;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#entropy = options.entropy ?? systemEntropy;
    this.#whose = whose;
    this.#wire = new Wire(
      {
        request: (id, method, params, within) => this.#asked(id, method, params, within),
        notification: (method, params, within) => this.#told(method, params, within),
        closed: () => this.#calls.close(),
        fault: this.#fault,
      },
      options.maxLength ?? 4 * 1_048_576,
    );
    if (sessionId !== undefined) this.#wire.sessionId = sessionId;
    this.#calls = new Calls({ wire: this.#wire, clock: this.#clock, entropy: this.#entropy, options });
    this.#subscriptions = new Subscriptions({
      subscribes: () => bagIn(this.#capabilities, "resources")?.["subscribe"] === true,
      ask: (method, params, viewer) => this.#ask(method, params, viewer),
      ready: () => this.ready,
      fault: this.#fault,
    });
    this.#lists = new Lists({
      said: () => this.#connected,
      ask: (method, params) => this.#request(method, params, whose),
      maxListed: options.maxListed ?? 10_000,
      fault: this.#fault,
    });
    this.#connected = this.#connect();
    // Whoever asks for something hears of it.
    this.#connected.catch(() => undefined);
  }

  /** Settles once the server has said what it is; rejects with why it does not. */
  get ready(): Promise<void> {
    return this.#connected.then(() => undefined);
  }

  get closed(): boolean {
    return this.#wire.closed;
  }

  get instructions(): string | undefined {
    const said = this.#said["instructions"];
    return this.#options.instructions ?? (typeof said === "string" ? said : undefined);
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
    const known = await this.#lists.get();
    const offer = known.offers.get(ref);
    if (offer === undefined) return NOTHING;
    return this.#calls.act(viewer, ref, args, options, this.#extra(viewer));
  }

  watch(viewer: Viewer, dirty: (ref?: OfferRef) => void, only?: { readonly ref: OfferRef; readonly args: Json }): () => void {
    return this.#subscriptions.watch(viewer, dirty, only);
  }

  async complete(viewer: Viewer, ref: OfferRef, argument: string, value: string, others: Bag): Promise<readonly string[]> {
    const known = await this.#lists.get();
    if (!known.offers.has(ref) || this.#capabilities?.["completions"] === undefined) return [];
    const [list = "", ...rest] = ref.split("/");
    const name = rest.join("/");
    const about = list === "prompts" ? { type: "ref/prompt", name } : { type: "ref/resource", uri: name };
    const context = Object.keys(others).length === 0 ? undefined : { context: { arguments: others } };
    const answer = await this.#ask("completion/complete", { ref: about, argument: { name: argument, value }, ...context }, viewer);
    const values = bagIn(answer, "completion")?.["values"];
    return Array.isArray(values) ? values.filter((one) => typeof one === "string") : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const undo = this.#clock.after(this.#listMs, resolve);
    try {
      // Also one that does not end must not hold up whoever closes it.
      await Promise.race([this.#server.close(), promise]);
    } catch (error) {
      this.#fault(error);
    } finally {
      undo();
      await this.#wire.close();
    }
  }

  get #capabilities(): Bag | undefined {
    return bagIn(this.#said, "capabilities");
  }

  get #listMs(): number {
    return this.#options.listMs ?? 10_000;
  }

  async #connect(): Promise<Bag> {
    await this.#inTime("connect", this.#server.connect(this.#wire));
    const capabilities = this.#options.clientCapabilities ?? EVERY_CAPABILITY;
    const hello = { protocolVersion: REVISION, capabilities, clientInfo: { name: "troupe", version: "1" } };
    this.#said = await this.#request("initialize", hello, this.#whose);
    this.#wire.notify("notifications/initialized", {});
    // From which level on, its own client says; what nobody wants is dropped here.
    if (this.#capabilities?.["logging"] !== undefined)
      this.#request("logging/setLevel", { level: "debug" }, this.#whose).catch(this.#fault);
    return this.#said;
  }

  async #ask(method: string, params: Bag, viewer: Viewer): Promise<Bag> {
    await this.#connected;
    try {
      return await this.#request(method, params, viewer);
    } catch (error) {
      throw faultOf(error, method);
    }
  }

  #request(method: string, params: Bag, viewer: Viewer): Promise<Bag> {
    const { id, result } = this.#wire.request(method, () => params, this.#extra(viewer));
    return this.#inTime(method, result, () => this.#wire.cancel(id, "It took too long."));
  }

  async #inTime<T>(what: string, done: Promise<T>, late?: () => void): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const undo = this.#clock.after(this.#listMs, () => {
      late?.();
      reject(new EngineError("WORK_TIMEOUT", `The server behind this did not answer ${what} within ${this.#listMs} ms.`));
    });
    try {
      return await Promise.race([done, promise]);
    } finally {
      undo();
    }
  }

  #extra(viewer: Viewer): object {
    const authInfo = (this.#options.authInfo ?? defaultAuthInfo)(viewer);
    return authInfo === undefined ? {} : { authInfo };
  }

  #asked(id: number | string, method: string, params: Bag, within: number | undefined): void {
    if (method === "ping") return this.#wire.respond(id, { result: {} });
    if (this.#calls.asked(id, method, params, within)) return;
    this.#wire.respond(id, { error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` } });
  }

  #told(method: string, params: Bag, within: number | undefined): void {
    if (method === "notifications/resources/updated") {
      if (typeof params["uri"] === "string") this.#subscriptions.updated(params["uri"]);
    } else if (method.endsWith("/list_changed")) {
      this.#lists.changed();
      this.#subscriptions.changed();
    } else if (method === "notifications/message") this.#logged(params, within);
    else this.#calls.told(method, params);
  }

  #logged(params: Bag, within: number | undefined): void {
    const { level, data = null, logger } = params;
    const log = this.#calls.options(within)?.onLog ?? (within === undefined ? this.#options.onLog : undefined);
    log?.(levelOf(level), data, ...(typeof logger === "string" ? [logger] : []));
  }

  readonly #fault = (error: unknown): void => this.#options.onFault?.(error);
}

function bagIn(bag: Bag | undefined, key: string): Bag | undefined {
  const value = bag?.[key];
  return isBag(value) ? value : undefined;
}
