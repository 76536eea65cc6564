import type { Gateway } from "../contract/index.ts";
import { remembering } from "../contract/internal.ts";

/** What an `Accept` header admits. */
export interface Admits {
  readonly json: boolean;
  readonly events: boolean;
}

const EVERYTHING: Admits = { json: true, events: true };

function quality(parameters: readonly string[]): number {
  for (const parameter of parameters) {
    const match = /^\s*q\s*=\s*([0-9.]+)\s*$/i.exec(parameter);
    if (match !== null) return Number(match[1]);
  }
  return 1;
}

const readAccept = remembering((text): Admits => {
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

/** No `Accept` header admits everything (RFC 9110, 12.5.1). */
export const accepts = (header: string | undefined): Admits => (header === undefined ? EVERYTHING : readAccept(header));

/** Whether a POST accepts what it may be answered by: both media types, or one where the gateway says that this is enough. */
export function acceptsReply({ json, events }: Admits, { acceptsEither }: Pick<Gateway, "acceptsEither">): boolean {
  return acceptsEither === true ? json || events : json && events;
}

/** What a body has to be unpacked from first; nothing here does. Undefined: it is as it came. */
export function packedAs(encoding: string | undefined): string | undefined {
  const named = encoding?.trim().slice(0, 64).toLowerCase() ?? "";
  return named === "" || named === "identity" ? undefined : named;
}

export const refusePacked = (encoding: string): string =>
  `Send the body as it is, without Content-Encoding: ${encoding.replace(/[^a-z0-9, -]/g, "")}.`;

/** JSON in UTF-8, the only charset JSON has between systems (RFC 8259, 8.1). */
export const isJson: (contentType: string) => boolean = remembering((text) => {
  const [type = "", ...parameters] = text.split(";");
  if (type.trim().toLowerCase() !== "application/json") return false;
  for (const parameter of parameters) {
    const match = /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/i.exec(parameter);
    if (match !== null && match[1]?.toLowerCase() !== "utf-8") return false;
  }
  return true;
});
