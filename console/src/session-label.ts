// Owns: the names of sessions and clients as people read them.
import type { TrafficRow } from "../../src/bridges/console/shapes.ts";

/** Those of clients that have none are named after the client and its principal. */
export const isSession = (name: string): boolean => name.startsWith("session|");

/** `session|03150d6e…` is `03150d6e`; a client without sessions goes by its own name. */
export const sessionLabel = (name: string): string => (isSession(name) ? name.slice(8, 16) : name.replaceAll(/\s*\|\s*/g, ", "));

/** How a list of messages names who sent each: by the client, and only where two have the same name by the session, too. */
export function clientLabels(rows: readonly TrafficRow[]): (session: string) => string {
  const clients = new Map<string, string>();
  for (const { session, client } of rows) if (session !== undefined && client !== undefined) clients.set(session, client);
  const names = [...clients.values()];
  return (session) => {
    const client = clients.get(session);
    if (client === undefined) return sessionLabel(session);
    const isOnly = names.filter((name) => name === client).length === 1;
    return isOnly ? client : isSession(session) ? `${client}, ${sessionLabel(session)}` : sessionLabel(session);
  };
}
