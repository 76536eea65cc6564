import type { Caller, Channel, Connection, HttpMount, SocketMount } from "../../core/contract/index.ts";
import { packetConnection, type PacketConnectionOptions } from "./connection.ts";
import { packetMount, type PacketMountOptions } from "./http-mount.ts";
import type { PacketFlow } from "./packet-flow.ts";
import { packetRefusal } from "./refused-frame.ts";

/** The subprotocol of packets over WebSocket. */
export const PACKET_PROTOCOL = "packetflow.v1";

/** What `packetEndpoints` takes: the bounds of connections and of the HTTP endpoint. */
export interface PacketEndpointsOptions extends PacketConnectionOptions, PacketMountOptions {}

/** The ways in to a system of capabilities, for whoever opens the ports. */
export interface PacketEndpoints {
  /** Of `HttpOptions.endpoints`. */
  readonly http: HttpMount;
  /** Of `HttpOptions.upgrades`, at the same path. */
  readonly webSocket: SocketMount;
  /** Part of `TcpOptions`. */
  readonly tcp: {
    readonly gateway: { connect(channel: Channel, caller: Caller): Connection };
    readonly tokenPlace: string;
    readonly refusal: (kind: string, message: string, id: string | number | null) => string;
  };
}

/** The endpoints of a packet server: HTTP and WebSocket mounts for `serveHttp`, and connections for `serveTcp`. */
export function packetEndpoints(flow: Pick<PacketFlow, "open">, options: PacketEndpointsOptions = {}): PacketEndpoints {
  const connect = (channel: Channel, caller: Caller): Connection => packetConnection(flow, channel, caller, options);
  const http = packetMount(flow, options);
  return {
    http,
    webSocket: { path: http.path, protocol: PACKET_PROTOCOL, connect },
    tcp: { gateway: { connect }, refusal: packetRefusal, tokenPlace: 'metadata["troupe/authorization"] of the first packet' },
  };
}
