// Owns: which media types of MCP an Accept header admits. Does not own: the refusal of others (mcp/gateway, mcp/transport).
import { memoizeByString } from "./collections.ts";

export interface Admits {
  readonly json: boolean;
  readonly events: boolean;
}

/** An empty header admits nothing. */
export const readAccept = memoizeByString((text): Admits => {
  const qualities = new Map<string, number>();
  for (const range of text.split(",")) {
    const [type = "", ...parameters] = range.split(";");
    qualities.set(type.trim().toLowerCase(), quality(parameters));
  }
  // The most specific range decides (RFC 9110, 12.5.1).
  const admits = (type: string): boolean =>
    (qualities.get(type) ?? qualities.get(`${type.slice(0, type.indexOf("/"))}/*`) ?? qualities.get("*/*") ?? 0) > 0;
  return { json: admits("application/json"), events: admits("text/event-stream") };
});

function quality(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const match = /^\s*q\s*=\s*"?([0-9.]+)"?\s*$/i.exec(parameter);
    if (match !== null) return Number(match[1]);
  }
  return 1;
}

/** Whether both media types of a POST's answer are admitted, or one if `either` is enough. */
export function admitsReply({ json, events }: Admits, either: boolean): boolean {
  return either ? json || events : json && events;
}
