// Owns: which rows of traffic a filter shows.
import type { TrafficRow } from "../../../../src/bridges/console/shapes.ts";

export interface TrafficFilter {
  readonly method: string;
  readonly transport: string;
  readonly session: string;
  readonly status: string;
  readonly era: string;
  readonly principal: string;
  /** Milliseconds. Empty: any. */
  readonly slow: string;
  readonly search: string;
  /** Where the text is searched: empty, in requests only; `all`: in what was answered, too. */
  readonly where: string;
}

/** `inText`: the rows whose messages have the text that is searched. */
export function matches(
  row: TrafficRow,
  { method, transport, session, status, era, principal, slow, search }: TrafficFilter,
  inText?: ReadonlySet<number>,
): boolean {
  if (method !== "" && row.method !== method) return false;
  if (transport !== "" && row.transport !== transport && !(transport === PACKETS && row.transport.startsWith(`${PACKETS}-`))) return false;
  if (session !== "" && row.session !== session) return false;
  if (status !== "" && row.status !== status) return false;
  if (era !== "" && row.era !== era) return false;
  if (principal !== "" && row.principal !== principal) return false;
  if (slow !== "" && (isLasting(row) || row.ms === undefined || row.ms < Number(slow))) return false;
  if (search === "" || inText?.has(row.n) === true) return true;
  const text = [row.method, row.name, row.actor, row.session, row.client, row.principal, row.peer, row.error?.message, row.code]
    .join("\n")
    .toLowerCase();
  return text.includes(search.toLowerCase());
}

/** Its answer is a stream that is meant to stay open: how long it was is no sign of slowness. */
export const isLasting = ({ method }: TrafficRow): boolean => method === "GET" || method === "subscriptions/listen";

/** The revisions of the protocol that an era has. */
export const eraLabel = (era: string): string => (era === "modern" ? "2026-07-28" : "up to 2025-11-25");

/** All transports that carry packets. */
export const PACKETS = "packets";

const LABELS: Readonly<Record<string, string>> = {
  http: "HTTP",
  stdio: "stdio",
  tcp: "TCP",
  memory: "memory",
  [PACKETS]: "packets, all",
  "packets-http": "packets over HTTP",
  "packets-websocket": "packets over WebSocket",
  "packets-tcp": "packets over TCP",
};

/** A transport for people. */
export const transportLabel = (transport: string): string => LABELS[transport] ?? transport;
