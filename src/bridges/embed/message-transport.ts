/** What carries whole messages between a server and one client. The transports of the official SDKs are ones. */
export interface MessageTransport {
  start?(): Promise<void> | void;
  send(message: object): Promise<void> | void;
  close?(): Promise<void> | void;
  /** Set by whoever listens, before `start`. */
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
}

interface PortEvent {
  readonly type: string;
  readonly data?: unknown;
}

/** A `MessagePort`, a `Worker`, the scope inside one: whatever posts and hears. */
export interface PagePort {
  postMessage(message: unknown, transfer: never[]): void;
  addEventListener(type: "message" | "close", run: (event: PortEvent) => void): void;
  removeEventListener(type: "message" | "close", run: (event: PortEvent) => void): void;
  start?(): void;
  close?(): void;
}

// Not every browser tells a port that its other end was closed.
const FAREWELL = "troupe:closed";

class PortTransport implements MessageTransport {
  readonly #port: PagePort;
  #closed = false;
  onmessage?: ((message: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;

  constructor(port: PagePort) {
    this.#port = port;
  }

  // As the SDKs' `Client.connect` and our `serve` do, once `onmessage` is set.
  async start(): Promise<void> {
    this.#port.addEventListener("message", this.#heard);
    this.#port.addEventListener("close", this.#ended);
    this.#port.start?.();
  }

  async send(message: unknown): Promise<void> {
    if (!this.#closed) this.#port.postMessage(message, []);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#port.postMessage(FAREWELL, []);
    this.#port.close?.();
    this.#ended();
  }

  readonly #heard = ({ data }: PortEvent): void => {
    if (data === FAREWELL) this.#ended();
    else this.onmessage?.(data);
  };

  readonly #ended = (): void => {
    if (this.#closed) return;
    this.#closed = true;
    this.#port.removeEventListener("message", this.#heard);
    this.#port.removeEventListener("close", this.#ended);
    this.onclose?.();
  };
}

/** Messages over a port, for either side: `serve(service, { transport: overPort(port1) })`, `client.connect(overPort(port2))`. */
export function overPort(port: PagePort): PortTransport {
  return new PortTransport(port);
}

export type { PortTransport };
