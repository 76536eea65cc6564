import type { RequestId } from "../json-rpc.ts";
import type { Settings } from "../settings.ts";

/** A name for what lives in one process only; where there are several, it says in which, so that the others ask that one and no other. */
export function nodeMark({ peers, entropy }: Settings): string {
  return peers === undefined ? entropy.hex(8) : `${peers.self}-${entropy.hex(8)}`;
}

// What clients send back in a header.
const SENDABLE = /^[\x20-\x7e]{1,64}$/;

/** Of a reply: where no other process can ask that one, it says too whose reply it is, for the case that nobody else can any more. */
export function replyMark({ peers, unreached, self, entropy }: Settings, request: RequestId | undefined): string {
  const mark = `${self}-${entropy.hex(8)}`;
  if (request === undefined || (peers !== undefined && !unreached)) return mark;
  const id = JSON.stringify(request);
  return SENDABLE.test(id) ? `${mark}-${id}` : mark;
}

const MARK = /^(?:ask-)?([a-z0-9]{16})-[0-9a-f]{16}(?:-(.+))?$/;

/** The node in a name that a client sent: anybody may have written it. Undefined: there is none. */
export function nodeIn(name: string): string | undefined {
  return MARK.exec(name)?.[1];
}

/** The request whose reply is called so. */
export function requestIn(name: string): RequestId | undefined {
  const text = MARK.exec(name)?.[2];
  if (text === undefined) return undefined;
  try {
    const id: unknown = JSON.parse(text);
    return typeof id === "string" || typeof id === "number" ? id : undefined;
  } catch {
    return undefined;
  }
}
