// Owns: resumable streams, as clients use them. Does not own: how much is stored (stream-object.ts).
import { hash } from "node:crypto";
import type { Closable, Json, StreamStore } from "../../core/contract/index.ts";
import { Names } from "./names.ts";
import { GuardedIngress, unexpectedAnswer, type GuardedIngressOptions } from "./ingress.ts";
import type { ServerHealth } from "./server-health.ts";
import { askServer } from "./session-store.ts";
import { STREAM_NAME_LENGTH, type StreamInputs, areSentMessages } from "./stream-object.ts";

export interface StreamStoreOptions extends GuardedIngressOptions {
  /** Prefix of the served object. Default none. */
  readonly prefix?: string;
  /** Stores with different names share nothing. Default "streams". */
  readonly name?: string;
  /** If given, calls are refused at once while the server is lost. */
  readonly health?: ServerHealth;
}

/** Longer messages are counted and not stored. */
const MESSAGE_BYTES = 1_048_576;

/** Streams that all nodes of a Restate server share. The served object decides how much is stored, and how long. */
export function restateStreamStore({ prefix, name = "streams", health, ...options }: StreamStoreOptions): StreamStore & Closable {
  const ingress = new GuardedIngress(options);
  const object = new Names(prefix).stream;
  const ask = askServer(health);
  // Clients choose session ids, and an id gives access to its session: the server gets only a digest.
  const of = <H extends keyof StreamInputs>(session: string, handler: H, input: StreamInputs[H]) => ({
    object,
    key: `${name}/${hash("sha256", session, "hex")}`,
    handler,
    input,
  });
  const close = async (): Promise<void> => ask.close();
  return {
    append: (session, name_, message) =>
      ask(async () => {
        const stream = name_.toWellFormed();
        const text = JSON.stringify(message);
        const at = Math.max(1, Math.floor(ingress.now()));
        // An id with such a long name is never accepted, so its messages cannot be requested again.
        const storedName = stream.length <= STREAM_NAME_LENGTH ? stream : "";
        const fits = storedName === stream && Buffer.byteLength(text) <= MESSAGE_BYTES;
        const n = await ingress.write(of(session, "append", { stream: storedName, at, ...(fits && { text }) }));
        if (typeof n !== "number") throw unexpectedAnswer({ object });
        return eventId(stream, n);
      }),
    after: (session, id) =>
      ask(async () => {
        const place = readEventId(id);
        if (place === undefined) return undefined;
        const sent = await ingress.read(of(session, "after", place));
        if (sent === null) return undefined;
        if (!areSentMessages(sent)) throw unexpectedAnswer({ object });
        const { stream } = place;
        return { stream, messages: sent.map(([n, text]) => ({ id: eventId(stream, n), message: parsed(text) })) };
      }),
    delete: (session) => ask(async () => void (await ingress.write(of(session, "delete", null)))),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const parsed = (text: string): Json => JSON.parse(text);

/** Short enough for a header. */
const eventId = (stream: string, n: number): string => `${n}.${encodeURIComponent(stream)}`;

// Maximum length of one UTF-16 code unit in an id.
const ESCAPED = 9;

/** Event ids come from clients: undefined if it is not one. */
function readEventId(id: string): { readonly stream: string; readonly n: number } | undefined {
  const dot = id.slice(0, 16).indexOf(".");
  const n = Number(id.slice(0, dot));
  if (dot < 1 || id.length > 17 + ESCAPED * STREAM_NAME_LENGTH || !/^[1-9]\d*$/.test(id.slice(0, dot))) return undefined;
  try {
    const stream = decodeURIComponent(id.slice(dot + 1));
    return stream.length > STREAM_NAME_LENGTH || !stream.isWellFormed() ? undefined : { n, stream };
  } catch {
    return undefined;
  }
}
