// Owns: transports of complete messages, and the one over a port.

/** Transports complete messages between a server and one client. The transports of the official SDKs match it. */
export interface MessageTransport {
  start?(): Promise<void> | void;
  send(message: object): Promise<void> | void;
  close?(): Promise<void> | void;
  /** Set by the receiver, before `start`. */
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
}

interface PortEvent {
  readonly type: string;
  readonly data?: unknown;
}

/** A `MessagePort`, a `Worker`, or the global scope inside one. */
export interface PagePort {
  postMessage(message: unknown, transfer: never[]): void;
  addEventListener(type: "message" | "close", run: (event: PortEvent) => void): void;
  removeEventListener(type: "message" | "close", run: (event: PortEvent) => void): void;
  start?(): void;
  close?(): void;
}

// Not every browser notifies a port that its other end was closed.
const CLOSED_MESSAGE = "troupe:closed";

/** A transport over a `MessagePort`, `Worker` or window, as `overPort` makes it. */
class PortTransport implements MessageTransport {
  readonly #port: PagePort;
  #closed = false;
  onmessage?: ((message: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;

  constructor(port: PagePort) {
    this.#port = port;
  }

  // Called by the SDKs' `Client.connect` and by `serve`, once `onmessage` is set.
  async start(): Promise<void> {
    this.#port.addEventListener("message", this.#onMessage);
    this.#port.addEventListener("close", this.#onClose);
    this.#port.start?.();
  }

  async send(message: unknown): Promise<void> {
    if (!this.#closed) this.#port.postMessage(message, []);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#port.postMessage(CLOSED_MESSAGE, []);
    this.#port.close?.();
    this.#onClose();
  }

  readonly #onMessage = ({ data }: PortEvent): void => {
    if (data === CLOSED_MESSAGE) this.#onClose();
    else this.onmessage?.(data);
  };

  readonly #onClose = (): void => {
    if (this.#closed) return;
    this.#closed = true;
    this.#port.removeEventListener("message", this.#onMessage);
    this.#port.removeEventListener("close", this.#onClose);
    this.onclose?.();
  };
}

/** A transport over a port, for either side: `serve(service, { transport: overPort(port1) })`, `client.connect(overPort(port2))`. */
export function overPort(port: PagePort): PortTransport {
  return new PortTransport(port);
}

export type { PortTransport };
