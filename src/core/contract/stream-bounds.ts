/** What a client may ask for again of one session: the rest is dropped, oldest first, and a client that asks for it is told so. */
export interface StreamBounds {
  /** Per stream. Default 1,000. */
  readonly messages: number;
  /** Per stream, of JSON text. Default 1 MiB. */
  readonly bytes: number;
  /** Per session; the one written to longest ago goes first. Default 32. */
  readonly streams: number;
}

export const STREAM_BOUNDS: StreamBounds = { messages: 1_000, bytes: 1_048_576, streams: 32 };

/** `<n>.<stream>`: a stream's messages count from 1, so that also a dropped one's successor is known. Fits a header. */
export const eventId = (stream: string, n: number): string => `${n}.${encodeURIComponent(stream)}`;

/** Event ids come from clients: undefined for what is none. */
export function readEventId(id: string): { readonly stream: string; readonly n: number } | undefined {
  const match = /^([1-9]\d{0,14})\.(.{0,1024})$/u.exec(id);
  if (match === null) return undefined;
  try {
    return { n: Number(match[1]), stream: decodeURIComponent(match[2] ?? "") };
  } catch {
    return undefined;
  }
}
