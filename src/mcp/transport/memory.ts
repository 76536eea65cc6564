// Owns: a client in this process. There are no bytes, sockets or timeouts.
import type { Caller, Channel, Connection, Gateway } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";

/** A client in this process. Messages are complete JSON texts. */
export interface MemoryClient extends AsyncDisposable {
  /** A text as it is, or any JSON value. */
  send(message: string | Uint8Array | object): void;
  /**
   * Calls `run` for each message; messages that came before there was a listener are delivered first. Returns its undo. What a listener
   * throws is thrown from the `send` that caused the message, after the other listeners were called.
   */
  onMessage(run: (text: string) => void): () => void;
  /** The messages in order, for one reader; ends with the connection. */
  readonly messages: AsyncIterable<string>;
  /** Aborted when the gateway has ended the connection. */
  readonly disconnected: AbortSignal;
  /** Simulates a client that does not read: the gateway's channel is not ready until `resume`. */
  pause(): void;
  resume(): void;
  /** Settles when the requests of this client have ended too. */
  close(): Promise<void>;
}

/** A connection to a gateway in the same process, ordered in both directions. */
export function connectInMemory(gateway: Pick<Gateway, "connect">, caller: Caller = { principal: "local", scopes: [] }): MemoryClient {
  const waiting: string[] = [];
  const listeners = new Set<(text: string) => void>();
  const ready = new Set<() => void>();
  const disconnected = new AbortController();
  const ended = new AbortController();
  const flow = { paused: false, delivering: false };
  let wake: (() => void) | undefined;

  // Throws what a listener threw first, once all listeners have got all messages.
  const deliver = (): void => {
    // A listener may cause another message, which the others get after the present one.
    if (flow.delivering) return;
    flow.delivering = true;
    const thrown: unknown[] = [];
    while (!flow.paused && waiting.length > 0 && listeners.size > 0) {
      const text = waiting.shift() ?? "";
      for (const run of Array.from(listeners)) {
        try {
          run(text);
        } catch (error) {
          thrown.push(error);
        }
      }
    }
    flow.delivering = false;
    wake?.();
    if (thrown.length > 0) throw thrown[0];
  };

  const channel: Channel = {
    get ready() {
      return !flow.paused && !ended.signal.aborted;
    },
    disconnected: disconnected.signal,
    onReady(run) {
      ready.add(run);
      return () => void ready.delete(run);
    },
    send(text) {
      if (ended.signal.aborted || disconnected.signal.aborted || text === "") return;
      waiting.push(wellFormed(text));
      deliver();
    },
    close() {
      ended.abort();
      wake?.();
    },
  };
  const connection: Connection = gateway.connect(channel, caller);

  async function* read(): AsyncGenerator<string, void> {
    while (true) {
      const next = flow.paused ? undefined : waiting.shift();
      if (next !== undefined) yield next;
      else if (ended.signal.aborted || disconnected.signal.aborted) return;
      else {
        await new Promise<void>((done) => {
          wake = done;
        });
        wake = undefined;
      }
    }
  }

  const close = async (): Promise<void> => {
    await connection.close();
    disconnected.abort();
    ended.abort();
    ready.clear();
    wake?.();
  };

  return {
    send(message) {
      if (disconnected.signal.aborted || ended.signal.aborted) return;
      connection.receive(typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message));
    },
    onMessage(run) {
      listeners.add(run);
      deliver();
      return () => void listeners.delete(run);
    },
    messages: { [Symbol.asyncIterator]: read },
    disconnected: ended.signal,
    pause() {
      flow.paused = true;
    },
    resume() {
      if (!flow.paused) return;
      flow.paused = false;
      try {
        deliver();
      } finally {
        for (const run of Array.from(ready)) run();
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
