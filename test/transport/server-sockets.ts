// What servers of this process have read, by client.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { eventually } from "./settle.ts";

const CHANNEL = "net.server.socket";

export interface ServerSockets extends Disposable {
  /** Resolves once the server has read that many bytes of that client. */
  bytes(client: Socket, count: number): Promise<void>;
  /** Resolves once the server has closed that client's connection. */
  closed(client: Socket): Promise<void>;
}

/** Starts observing; clients that connected before are unknown. */
export function trackServerSockets(): ServerSockets {
  const sockets = new Map<number | undefined, Socket>();
  const met = (message: unknown): void => {
    if (typeof message !== "object" || message === null || !("socket" in message) || !(message.socket instanceof Socket)) return;
    sockets.set(message.socket.remotePort, message.socket);
  };
  subscribe(CHANNEL, met);
  const ports = new WeakMap<Socket, number | undefined>();
  const serverSide = (client: Socket): Socket | undefined => {
    if (!ports.has(client)) ports.set(client, client.localPort);
    return sockets.get(ports.get(client));
  };
  return {
    bytes: (client, count) => eventually(() => (serverSide(client)?.bytesRead ?? 0) >= count, `${count} bytes`),
    closed: (client) => eventually(() => serverSide(client)?.closed === true, "the end of a client"),
    [Symbol.dispose]: () => void unsubscribe(CHANNEL, met),
  };
}
