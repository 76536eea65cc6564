// Owns: a gateway and packets as their transports see them, recorded on their way: never a reason for a request to fail. Does not own:
// what is recorded (traffic.ts).

import type { Answer, Caller, CancelSignal, Channel, Connection, Exchange, Gateway, GatewayReport } from "../../core/contract/index.ts";
import { andThenElse } from "../../core/contract/internal.ts";
import type { PacketFlow } from "../packet/index.ts";
import type { PacketTransport, SeenClient, Transport } from "./clients.ts";
import type { RecordedRow } from "./traffic-row.ts";
import type { Traffic } from "./traffic.ts";

/** Undefined: it failed. */
function safely<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}

export class RecordedGateway implements Gateway {
  readonly #inner: Gateway;
  readonly #traffic: Traffic;
  readonly #transport: Transport;
  readonly acceptsEither?: boolean;
  readonly report?: GatewayReport;

  constructor(inner: Gateway, traffic: Traffic, transport: Transport) {
    this.#inner = inner;
    this.#traffic = traffic;
    this.#transport = transport;
    if (inner.acceptsEither !== undefined) this.acceptsEither = inner.acceptsEither;
    if (inner.report !== undefined) this.report = inner.report;
  }

  exchange(exchange: Exchange): Answer | Promise<Answer> {
    const row = this.#begin(exchange);
    if (row === undefined) return this.#inner.exchange(exchange);
    const recorded = new RecordedExchange(exchange, row, this.#traffic);
    return andThenElse(this.#inner.exchange(recorded), this.#answered, this.#failed, recorded);
  }

  #begin(exchange: Exchange): RecordedRow | undefined {
    try {
      return this.#traffic.request(exchange);
    } catch {
      return undefined;
    }
  }

  readonly #answered = (answer: Answer, { row, inner }: RecordedExchange): Answer => {
    safely(() => this.#traffic.answered(row, inner, answer, this.report));
    return answer;
  };

  readonly #failed = (error: unknown, { row }: RecordedExchange): never => {
    safely(() => this.#traffic.streamEnded(row));
    throw error;
  };

  connect(channel: Channel, caller: Caller): Connection {
    const client = this.#traffic.clients.connection(this.#transport, caller, this.#traffic.now());
    const recorded = new RecordedChannel(channel, (text) => this.#traffic.sent(client, text));
    channel.disconnected.addEventListener("abort", () => safely(() => this.#traffic.connectionEnded(client)), { once: true });
    return new RecordedConnection(this.#inner.connect(recorded, caller), client, caller, this.#traffic);
  }

  drain(graceMs: number): Promise<void> {
    return this.#inner.drain(graceMs);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]();
  }
}

class RecordedConnection implements Connection {
  readonly #inner: Connection;
  readonly #client: SeenClient;
  readonly #caller: Caller;
  readonly #traffic: Traffic;

  constructor(inner: Connection, client: SeenClient, caller: Caller, traffic: Traffic) {
    this.#inner = inner;
    this.#client = client;
    this.#caller = caller;
    this.#traffic = traffic;
  }

  receive(frame: Uint8Array | string, caller?: Caller): void {
    // No closure for what is not recorded: frames come by the hundred thousand.
    let row: RecordedRow | undefined;
    try {
      row = this.#traffic.frame(this.#client, frame, caller ?? this.#caller);
    } catch {
      this.#traffic.skipped += 1;
    }
    this.#inner.receive(frame, row === undefined ? caller : recordedCaller(caller ?? this.#caller, row, this.#traffic));
  }

  async close(graceMs?: number): Promise<void> {
    await this.#inner.close(graceMs);
    safely(() => this.#traffic.connectionEnded(this.#client));
  }
}

/** The same caller; what the request commits is recorded, and how long its call takes. */
const recordedCaller = (caller: Caller, row: RecordedRow, traffic: Traffic): Caller => ({
  ...caller,
  onReceipt(receipt) {
    safely(() => traffic.rows.committed(row, receipt));
    caller.onReceipt?.(receipt);
  },
  onHandled(handled) {
    row.wasHandled(handled);
    caller.onHandled?.(handled);
  },
});

class RecordedExchange implements Exchange {
  readonly inner: Exchange;
  readonly row: RecordedRow;
  readonly verb: Exchange["verb"];
  readonly caller: Caller;
  readonly body?: Uint8Array;
  readonly posture?: "meta";
  readonly #traffic: Traffic;
  #channel: Channel | undefined;

  constructor(inner: Exchange, row: RecordedRow, traffic: Traffic) {
    const { verb, caller, body, posture } = inner;
    this.inner = inner;
    this.row = row;
    this.verb = verb;
    this.caller = recordedCaller(caller, row, traffic);
    if (body !== undefined) this.body = body;
    if (posture !== undefined) this.posture = posture;
    this.#traffic = traffic;
  }

  header(name: string): string | undefined {
    return this.inner.header(name);
  }

  get disconnected(): CancelSignal {
    return this.inner.disconnected;
  }

  stream(headers?: Readonly<Record<string, string>>): Channel {
    return (this.#channel ??= this.#recorded(this.inner.stream(headers)));
  }

  #recorded(channel: Channel): Channel {
    const { row } = this;
    const ended = (): void => safely(() => this.#traffic.streamEnded(row));
    channel.disconnected.addEventListener("abort", ended, { once: true });
    return new RecordedChannel(
      channel,
      (text) => this.#traffic.sentFor(row, text),
      // Other streams end with their answer.
      () => safely(() => this.#traffic.streamClosed(row)),
    );
  }
}

class RecordedChannel implements Channel {
  readonly #inner: Channel;
  readonly #sent: (text: string) => void;
  readonly #closed: (() => void) | undefined;

  constructor(inner: Channel, sent: (text: string) => void, closed?: () => void) {
    this.#inner = inner;
    this.#sent = sent;
    this.#closed = closed;
  }

  get ready(): boolean {
    return this.#inner.ready;
  }

  get disconnected(): CancelSignal {
    return this.#inner.disconnected;
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    this.#inner.send(text, eventId, retryMs, event);
    if (text === "") return;
    try {
      this.#sent(text);
    } catch {
      return;
    }
  }

  onReady(run: () => void): () => void {
    return this.#inner.onReady(run);
  }

  close(): void {
    this.#inner.close();
    if (this.#closed !== undefined) this.#closed();
  }
}

// ── packets ─────────────────────────────────────────────────────────────────

/** What opens a session for each connection, or each HTTP request: a `PacketFlow`. */
export type PacketOpener = Pick<PacketFlow, "open">;

export const recordedPackets = (flow: PacketOpener, traffic: Traffic, transport: PacketTransport): PacketOpener => ({
  open(reception) {
    const { caller, tell } = reception;
    const client = traffic.clients.packets(transport, caller, traffic.now());
    /** Those under way, by the id that replies repeat, as JSON. */
    const running = new Map<string | undefined, RecordedRow>();
    const session = flow.open({
      ...reception,
      ...(tell !== undefined && {
        tell(packet) {
          const row = running.get(packet.id === undefined ? undefined : JSON.stringify(packet.id));
          if (row !== undefined) safely(() => traffic.packetSent(row, packet));
          tell(packet);
        },
      }),
    });
    return {
      async receive(text) {
        const row = safely(() => traffic.packet(client, text, caller));
        if (row === undefined) return await session.receive(text);
        const { id } = row;
        running.set(id, row);
        const reply = await session.receive(text);
        if (running.get(id) === row) running.delete(id);
        safely(() => traffic.packetSent(row, reply));
        return reply;
      },
      async close() {
        await session.close();
        if (transport !== "packets-http") safely(() => traffic.connectionEnded(client));
      },
    };
  },
});
