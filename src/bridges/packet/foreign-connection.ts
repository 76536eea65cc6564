import { untilAborted } from "../../core/contract/index.ts";
import type { SessionForgotten } from "./bounded-fetch.ts";
import type { HttpServer, LinkOptions, StdioServer } from "./foreign-options.ts";
import { type Wire, wireTo } from "./foreign-wire.ts";
import type { McpClient, McpLibrary } from "./mcp-client.ts";
import { pause } from "./pause.ts";
import { reasonOf } from "./reason-of.ts";

/** Messages within a second, beyond which they are a flood. */
const FLOOD = 2_000;
/** How long a process may be silent before it is taken for one of the old era. */
const PROBE_MS = 5_000;
/** How long a server has to let a session end. */
const GOODBYE_MS = 2_000;
/** The client's own time-outs do not go by the injected clock: none of them is to ring. */
export const NEVER_MS = 2_147_483_647;

/** One connection to one server, from its handshake to its end. */
export class ForeignConnection {
  readonly client: McpClient;
  /** Aborted at its end, with why. */
  readonly signal: AbortSignal;
  readonly #end = new AbortController();
  readonly #options: LinkOptions;
  readonly #wire: Wire;
  #heard = 0;
  #second = -1;
  #heardInSecond = 0;
  #closed: Promise<void> | undefined;
  #undoProbe: (() => void) | undefined;

  constructor(library: McpLibrary, server: StdioServer | HttpServer, options: LinkOptions) {
    this.#options = options;
    this.signal = this.#end.signal;
    this.#wire = wireTo(library, server, options, { heard: () => this.#count(), lost: (reason) => this.#lost(reason) });
    this.client = library.client(this.#wire.isProcess ? Math.min(PROBE_MS, options.timeoutMs) : NEVER_MS);
  }

  get isLegacy(): boolean {
    return this.client.getProtocolEra() === "legacy";
  }

  /** The handshake. `isLegacy`: known from an earlier one. */
  async open(isLegacy: boolean): Promise<void> {
    const undo = this.#options.clock.after(this.#options.timeoutMs, () => this.#lost("it did not answer in time"));
    try {
      await untilAborted(this.signal, () =>
        this.client.connect(this.#wire.transport, { timeout: NEVER_MS, ...(isLegacy && { prior: { kind: "legacy" } }) }),
      );
    } catch (error) {
      this.#lost(reasonOf(error));
      throw error;
    } finally {
      undo();
    }
  }

  /** A call had no answer in time: a process that says nothing at all any more is ended. */
  doubt(): void {
    if (!this.#wire.isProcess || this.#undoProbe !== undefined || this.signal.aborted) return;
    const heard = this.#heard;
    const probe = new AbortController();
    const ask = { timeout: NEVER_MS, signal: probe.signal };
    // Whatever comes back shows that it lives.
    void (this.isLegacy ? this.client.ping(ask) : this.client.discover(ask)).catch(() => undefined);
    const undo = this.#options.clock.after(this.#options.timeoutMs, () => {
      this.#undoProbe?.();
      if (this.#heard === heard) this.#lost("it does not answer any more");
    });
    this.#undoProbe = () => {
      this.#undoProbe = undefined;
      undo();
      probe.abort();
    };
  }

  /** The server does not know it any more. */
  forgotten({ message }: SessionForgotten): void {
    this.#lost(message);
  }

  /** Ends it in good order. Never rejects. */
  async close(): Promise<void> {
    await this.#ended("it is closed", async () => {
      const tooLong = pause(this.#options.clock, GOODBYE_MS);
      await Promise.race([this.#wire.goodbye(), tooLong.over]).catch(() => undefined);
      tooLong.undo();
    });
  }

  /** For a process that ends: nothing can be waited for. */
  kill(): void {
    this.#wire.kill();
  }

  #lost(reason: string): void {
    if (this.#closed === undefined) void this.#ended(reason, async () => this.#wire.kill());
  }

  #ended(reason: string, farewell: () => Promise<void>): Promise<void> {
    return (this.#closed ??= (async () => {
      this.#undoProbe?.();
      this.#end.abort(new Error(reason));
      await farewell();
      await this.client.close().catch(() => undefined);
      // A client whose handshake was not over has no transport yet.
      await this.#wire.transport.close().catch(() => undefined);
    })());
  }

  #count(): void {
    this.#heard += 1;
    const second = Math.floor(this.#options.clock.now() / 1_000);
    if (second !== this.#second) [this.#second, this.#heardInSecond] = [second, 0];
    this.#heardInSecond += 1;
    if (this.#heardInSecond > FLOOD) this.#lost(`it sent more than ${FLOOD} messages in one second`);
  }
}
