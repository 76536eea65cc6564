// Owns: the events that an operator writes instead of a turn: checkpoints, reverts, edits and forks. Does not own: whether an operator may, and
// committing them (bridges/operate).
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import {
  type ActorId,
  type ChainEvent,
  type Entry,
  isJsonObject,
  type Json,
  type Row,
  type Stored,
  StoreError,
} from "../contract/index.ts";
import { readBody, readHeader, seal, sha256 } from "./event.ts";
import { check } from "./json-check.ts";
import { byOperator } from "./messages.ts";
import { stateFrom, type VersionedState } from "./replay.ts";

/** The id, time and seed of an event that an engine writes on its own behalf. */
export interface Stamped {
  readonly messageId: string;
  readonly at: number;
  readonly seed: string;
  /** Who operates. Absent: the event does not say. */
  readonly principal?: string;
}

// ── checkpoints ─────────────────────────────────────────────────────────────

/** An Ed25519 private key, from PEM or a key object. Throws for another kind of key. */
export function signingKey(key: string | KeyObject): KeyObject {
  const read = typeof key === "string" ? createPrivateKey(key) : key;
  if (read.asymmetricKeyType !== "ed25519" || read.type !== "private")
    throw new TypeError("Checkpoints are signed with an Ed25519 private key: make one with `openssl genpkey -algorithm ed25519`.");
  return read;
}

/** Identifies the key that signed: 16 hex digits of the SHA-256 of its public half (DER, SPKI). */
const keyId = (key: KeyObject): string => {
  const open = key.type === "private" ? createPublicKey(key) : key;
  return sha256(open.export({ type: "spki", format: "der" }).toString("base64")).slice(0, 16);
};

/** The text that is signed: the last event before the checkpoint, and the hash of the whole state. */
const statement = (actor: ActorId, life: string, seq: number, parent: string | null, state: Json): Buffer =>
  Buffer.from(`troupe checkpoint\n${actor}\n${life}\n${seq}\n${parent ?? "-"}\n${sha256(JSON.stringify(state))}\n`);

/**
 * The entry of a checkpoint: the whole state and the head it follows, signed if there is a key. Bodies before it may be erased
 * (`Store.erase(id, entry.seq)`): the chain still verifies, and its state can still be replayed. It counts as no message and moves no time.
 */
export function checkpointEntry(
  id: ActorId,
  { row, seq, head, tail }: Stored,
  { messageId, at, seed, principal }: Stamped,
  key?: KeyObject,
): Entry {
  const { state, version } = stateFrom(tail);
  const signature = key && {
    key: keyId(key),
    value: sign(null, statement(id, row.life, seq + 1, head, state), key).toString("base64"),
  };
  const event = seal(
    { actor: id, life: row.life, seq: seq + 1, parent: head, at, type: "checkpoint" },
    {
      message: { id: messageId, to: id, action: "checkpoint", args: { head }, at, seed, ...byOperator(principal) },
      state,
      version,
      sent: [],
      reply: { ok: null },
      ...(signature === undefined ? {} : { record: { signature } }),
    },
  );
  // The state stays the same, and so does its row in each index.
  return { after: head, seq: seq + 1, event, full: true, row, out: [], indexed: [] };
}

/** Whether this is a checkpoint signed by the private half of `publicKey`. False, never a throw, for malformed texts. */
export function checkSignature(event: ChainEvent, publicKey: KeyObject): boolean {
  try {
    const { actor, life, seq, parent, type } = readHeader(event);
    const body = readBody(event);
    if (type !== "checkpoint" || body?.state === undefined || !isJsonObject(body.record)) return false;
    const { signature } = body.record;
    if (!isJsonObject(signature) || typeof signature["value"] !== "string") return false;
    return verify(null, statement(actor, life, seq, parent, body.state), publicKey, Buffer.from(signature["value"], "base64"));
  } catch {
    return false;
  }
}

// ── reverts ─────────────────────────────────────────────────────────────────

export interface RevertOptions extends Stamped {
  /** The event whose state is restored. */
  readonly to: number;
  /** Why, for readers of the chain. */
  readonly reason: string;
}

/**
 * The entry that restores `past`, the state after event `to` of the same life. It counts as no message and moves no time. Timers, pending
 * replies and what was sent stay as they are.
 */
export function revertEntry(
  id: ActorId,
  { row, seq, head }: Stored,
  { state, version }: VersionedState,
  { to, reason, messageId, at, seed, principal }: RevertOptions,
): Entry {
  const event = seal(
    { actor: id, life: row.life, seq: seq + 1, parent: head, at, type: "revert" },
    {
      message: { id: messageId, to: id, action: "revert", args: { head, to, reason }, at, seed, ...byOperator(principal) },
      state,
      version,
      sent: [],
      reply: { ok: null },
    },
  );
  // A state of an earlier version is migrated when it is loaded.
  return { after: head, seq: seq + 1, event, full: true, row: { ...row, version }, out: [] };
}

// ── edits ───────────────────────────────────────────────────────────────────

/** Who edits a state, and why. */
export interface EditOptions extends Stamped {
  /** The new state, and its version. */
  readonly state: Json;
  readonly version: number;
  /** Why, for readers of the chain. */
  readonly reason: string;
  readonly principal: string;
  /** The state was not checked by its schema: the event says so. */
  readonly force?: boolean;
  /** The most that the state may have as JSON, in bytes. */
  readonly maxBytes: number;
}

/**
 * The entry of an operator's edit: another state, the reason, and who did it. It counts as no message and moves no time, and changes no
 * timers and no pending replies. Throws `STATE_NOT_JSON`, `STATE_TOO_LARGE`.
 */
export function editEntry(
  id: ActorId,
  { row, seq, head }: Stored,
  { state, version, reason, principal, force = false, maxBytes, messageId, at, seed }: EditOptions,
): Entry {
  check(state, "state", maxBytes);
  const event = seal(
    { actor: id, life: row.life, seq: seq + 1, parent: head, at, type: "edit" },
    {
      message: {
        id: messageId,
        to: id,
        action: "edit",
        args: { head, reason, ...(force && { force }) },
        at,
        seed,
        ...byOperator(principal),
      },
      state,
      version,
      sent: [],
      reply: { ok: null },
    },
  );
  return { after: head, seq: seq + 1, event, full: true, row: { ...row, version }, out: [] };
}

// ── forks ───────────────────────────────────────────────────────────────────

export interface ForkOptions extends Stamped {
  /** The new actor, of the same kind. */
  readonly to: ActorId;
  /** Of the origin: for whom alone the fork exists, too, and when it expires. */
  readonly origin: Partial<Pick<Row, "owner" | "policy">>;
  /** UUID of its life. */
  readonly life: string;
  /** What it sends by itself is recorded but not delivered, in this life and all later ones. Default true. */
  readonly muted?: boolean;
}

/**
 * The first entry of a chain that begins with the state after the last of `events`, which must have a whole state. It names its origin in
 * its message and as its cause. Timers and pending replies stay with the origin.
 */
export function forkEntry(events: readonly ChainEvent[], options: ForkOptions): Entry {
  const {
    to,
    origin: { owner, policy },
    life,
    messageId,
    at,
    seed,
    principal,
    muted = true,
  } = options;
  const last = events.at(-1);
  if (last === undefined) throw new StoreError("STORE_CORRUPT", "There is nothing to fork: the chain is empty.");
  const { state, version } = stateFrom(events);
  const of = readHeader(last);
  const event = seal(
    { actor: to, life, seq: 1, parent: null, at, type: "fork", cause: last.id },
    {
      message: {
        id: messageId,
        to,
        action: "fork",
        args: { actor: of.actor, life: of.life, seq: of.seq, head: last.id },
        at,
        seed,
        ...byOperator(principal),
      },
      state,
      version,
      sent: [],
      reply: { ok: null },
    },
  );
  return {
    after: null,
    seq: 1,
    event,
    full: true,
    row: {
      uid: life,
      life,
      version,
      createdAt: at,
      lastMessageAt: at,
      messageCount: 1,
      ...(policy === undefined ? {} : { policy }),
      status: "live",
      ...(owner === undefined ? {} : { owner }),
      ...(muted ? { muted } : {}),
      wakes: {},
      pending: {},
    },
    out: [],
  };
}
