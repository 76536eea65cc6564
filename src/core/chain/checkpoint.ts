import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from "node:crypto";
import { type ActorId, type ChainEvent, type Entry, type Json, type Stored, isBag } from "../contract/index.ts";
import { readBody, readHeader, seal, sha256 } from "./event.ts";
import { stateFrom } from "./state.ts";

/** What an engine stamps on events it writes on its own account. */
export interface Stamped {
  readonly messageId: string;
  readonly at: number;
  readonly seed: string;
}

/** An Ed25519 private key; PEM, or one already read. Throws where it is another kind of key. */
export function signingKey(key: string | KeyObject): KeyObject {
  const read = typeof key === "string" ? createPrivateKey(key) : key;
  if (read.asymmetricKeyType !== "ed25519" || read.type !== "private")
    throw new TypeError("Checkpoints are signed with an Ed25519 private key: make one with `openssl genpkey -algorithm ed25519`.");
  return read;
}

/** Which key signed: the SHA-256 of its public half (DER, SPKI), 16 hex digits of it. */
const keyId = (key: KeyObject): string => {
  const open = key.type === "private" ? createPublicKey(key) : key;
  return sha256(open.export({ type: "spki", format: "der" }).toString("base64")).slice(0, 16);
};

/** The text that is signed, one fact a line: the last event before the checkpoint, and the whole state. */
const statement = (actor: ActorId, life: string, seq: number, parent: string | null, state: Json): Buffer =>
  Buffer.from(`troupe checkpoint\n${actor}\n${life}\n${seq}\n${parent ?? "-"}\n${sha256(JSON.stringify(state))}\n`);

/**
 * The entry of a checkpoint: the whole state and the head it follows, signed where there is
 * a key. Bodies before it may be erased (`Store.erase(id, entry.seq)`): the chain still
 * verifies and still tells its state. It is no message: nothing is counted, no time moves.
 */
export function checkpointEntry(id: ActorId, { row, seq, head, tail }: Stored, { messageId, at, seed }: Stamped, key?: KeyObject): Entry {
  const { state, version } = stateFrom(tail);
  const signature = key && {
    key: keyId(key),
    value: sign(null, statement(id, row.life, seq + 1, head, state), key).toString("base64"),
  };
  const event = seal(
    { actor: id, life: row.life, seq: seq + 1, parent: head, at, type: "checkpoint" },
    {
      message: { id: messageId, to: id, action: "checkpoint", args: { head }, at, seed },
      state,
      version,
      sent: [],
      reply: { ok: null },
      ...(signature === undefined ? {} : { record: { signature } }),
    },
  );
  return { after: head, seq: seq + 1, event, full: true, row, out: [] };
}

/** Whether this is a checkpoint signed by the private half of `publicKey`. Hostile texts are false, never thrown. */
export function checkSignature(event: ChainEvent, publicKey: KeyObject): boolean {
  try {
    const { actor, life, seq, parent, type } = readHeader(event);
    const body = readBody(event);
    if (type !== "checkpoint" || body?.state === undefined || !isBag(body.record)) return false;
    const { signature } = body.record;
    if (!isBag(signature) || typeof signature["value"] !== "string") return false;
    return verify(null, statement(actor, life, seq, parent, body.state), publicKey, Buffer.from(signature["value"], "base64"));
  } catch {
    return false;
  }
}
