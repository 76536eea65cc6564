// Owns: what a chain proves by itself (C7), and with receipts and a public key. Does not own: its states (replay.ts).
import type { KeyObject } from "node:crypto";
import type { ActorId, ChainEvent, Receipt } from "../contract/index.ts";
import { readBody, readHeader, sha256 } from "./event.ts";
import { checkSignature } from "./operator-entries.ts";

/** Why a chain is not valid. */
export type FlawCode =
  /** A header's text does not have the hash that is its event's id. */
  | "CHANGED"
  /** A body's text does not have the hash its header names. */
  | "BODY_CHANGED"
  /** A header that is not in the one form a header has. */
  | "MALFORMED"
  /** An event is missing, repeated or out of order. */
  | "ORDER"
  /** An event of another actor, or of a life that does not begin there. */
  | "FOREIGN"
  /** The store could not read an event, or the row that leads to it. */
  | "UNREADABLE"
  /** A body is missing, and no whole state follows it. */
  | "ERASED"
  /** The chain ends before the event a receipt names. */
  | "ROLLED_BACK"
  /** The chain has another event than the one a receipt names. */
  | "OTHER_HISTORY"
  /** A checkpoint's signature is missing or not by this key. */
  | "SIGNATURE";

/** Where a chain is not valid, and why. */
export interface Flaw {
  readonly code: FlawCode;
  /** The first event with the flaw, by its position: the event itself may be forged. */
  readonly seq: number;
  readonly message: string;
}

/** What a chain is compared with, besides its own hashes. */
export interface VerifyOptions {
  /** The actor whose chain it must be. Default: that of the first event. */
  readonly actor?: ActorId;
  /** Receipts of calls, in any number. */
  readonly receipts?: readonly Receipt[];
  /** Checkpoints must be signed by its private key (Ed25519). */
  readonly publicKey?: KeyObject;
  /** The event before the first one. Default: none, the chain's beginning. */
  readonly after?: { readonly seq: number; readonly id: string };
}

/** The result of verifying a chain. It is valid where `flaw` is undefined. */
export interface Verdict {
  readonly flaw: Flaw | undefined;
  /** How many events are valid. */
  readonly events: number;
  readonly actor: ActorId | undefined;
  readonly seq: number;
  readonly head: string | null;
  /** How many bodies were erased. */
  readonly erased: number;
  /** The last checkpoint with a valid signature, if there is a key. */
  readonly signedSeq: number | undefined;
}

// The header from `at` on. The part before it is compared with the exact text it must be, so the whole header is known without parsing it:
// a duplicate key cannot make a parser read something else.
const TEXT = String.raw`[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*`;
const REST = new RegExp(
  String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?,"type":"(${TEXT})"(?:,"cause":"${TEXT}")?,"body":"([0-9a-f]{64})"\}$`,
  "y",
);

/** Takes events in order, one by one, until the first flaw. Keeps no event. */
export class Verifier {
  readonly #options: VerifyOptions;
  readonly #receipts: ReadonlyMap<number, readonly Receipt[]>;
  #flaw: Flaw | undefined;
  #events = 0;
  #actor: ActorId | undefined;
  #before = "";
  #seq: number;
  #head: string | null;
  #erased = 0;
  /** The erased body that no whole state has followed yet. */
  #gap: number | undefined;
  #signedSeq: number | undefined;

  constructor(options: VerifyOptions = {}) {
    this.#options = options;
    this.#seq = options.after?.seq ?? 0;
    this.#head = options.after?.id ?? null;
    this.#receipts = Map.groupBy(options.receipts ?? [], ({ seq }) => seq);
  }

  /** False once there is a flaw. */
  add(event: ChainEvent): boolean {
    if (this.#flaw) return false;
    const flaw = this.#check(event);
    if (flaw) this.#flaw = { seq: this.#seq + 1, ...flaw };
    return flaw === undefined;
  }

  /** The verdict, after the last event. */
  end(): Verdict {
    if (this.#flaw === undefined && this.#gap !== undefined)
      this.#flaw = {
        code: "ERASED",
        seq: this.#gap,
        message: `The body of event ${this.#gap} is missing and no whole state follows it: the state is unknown.`,
      };
    const actor = this.#actor ?? this.#options.actor;
    for (const receipt of this.#options.receipts ?? []) {
      if (this.#flaw) break;
      if (receipt.actor !== actor)
        this.#flaw = { code: "FOREIGN", seq: receipt.seq, message: `The receipt is of ${receipt.actor}, not of this chain.` };
      else if (receipt.seq > this.#seq)
        this.#flaw = {
          code: "ROLLED_BACK",
          seq: this.#seq,
          message: `The receipt names event ${receipt.seq}; this chain ends at event ${this.#seq}. The file was rolled back: look for a later copy.`,
        };
    }
    return {
      flaw: this.#flaw,
      events: this.#events,
      actor: this.#actor,
      seq: this.#seq,
      head: this.#head,
      erased: this.#erased,
      signedSeq: this.#signedSeq,
    };
  }

  #check(event: ChainEvent): Omit<Flaw, "seq"> | undefined {
    const { id, header, body } = event;
    const seq = this.#seq + 1;
    if (sha256(header) !== id)
      return { code: "CHANGED", message: `The header of event ${seq} was changed: its hash is not its id ${id.slice(0, 12)}…` };
    const position = `${seq},"parent":${this.#head === null ? "null" : `"${this.#head}"`},"at":`;
    let newLife = false;
    if (this.#before === "" || !header.startsWith(this.#before + position)) {
      const wrong = this.#enter(event, seq, position);
      if (wrong) return wrong;
      newLife = this.#events > 0;
    }
    REST.lastIndex = this.#before.length + position.length;
    const rest = REST.exec(header);
    if (rest === null) return { code: "MALFORMED", message: `Event ${seq} is no header: it was not written by Troupe.` };
    if (body === undefined) {
      this.#erased += 1;
      this.#gap ??= seq;
    } else {
      if (sha256(body) !== rest[2])
        return { code: "BODY_CHANGED", message: `The body of event ${seq} was changed: its hash is not the one its header names.` };
      const wrong = this.#body(event, seq, rest[1] ?? "", newLife);
      if (wrong) return wrong;
    }
    for (const receipt of this.#receipts.get(seq) ?? [])
      if (receipt.actor === this.#actor && receipt.head !== id)
        return {
          code: "OTHER_HISTORY",
          message: `The receipt says that event ${seq} was ${receipt.head.slice(0, 12)}…; here it is ${id.slice(0, 12)}…: this is another history.`,
        };
    this.#events += 1;
    this.#seq = seq;
    this.#head = id;
    return undefined;
  }

  /** Parses a body only if a whole state or a signature is required there. */
  #body(event: ChainEvent, seq: number, type: string, newLife: boolean): Omit<Flaw, "seq"> | undefined {
    if (this.#gap === undefined && !newLife && type !== "checkpoint") return undefined;
    let whole: boolean;
    try {
      whole = readBody(event)?.state !== undefined;
    } catch {
      return { code: "MALFORMED", message: `The body of event ${seq} is none: it was not written by Troupe.` };
    }
    if (whole) this.#gap = undefined;
    if (newLife && !whole) return { code: "FOREIGN", message: `Event ${seq} is of another life, which does not begin there.` };
    const { publicKey } = this.#options;
    if (type !== "checkpoint" || publicKey === undefined) return undefined;
    if (!checkSignature(event, publicKey))
      return { code: "SIGNATURE", message: `The checkpoint at event ${seq} is not signed by this key.` };
    this.#signedSeq = seq;
    return undefined;
  }

  /** The first event, or the first of another life. Anything else is a flaw. */
  #enter(event: ChainEvent, seq: number, position: string): Omit<Flaw, "seq"> | undefined {
    let header;
    try {
      header = readHeader(event);
    } catch {
      return { code: "MALFORMED", message: `Event ${seq} has no header: it was not written by Troupe.` };
    }
    const actor = this.#actor ?? this.#options.actor ?? header.actor;
    if (header.actor !== actor) return { code: "FOREIGN", message: `Event ${seq} is of ${header.actor}, not of ${actor}.` };
    if (header.seq !== seq)
      return {
        code: "ORDER",
        message: `Event ${seq} was expected, event ${header.seq} came: events are missing, doubled or out of order.`,
      };
    if (header.parent !== this.#head) return { code: "ORDER", message: `Event ${seq} does not follow the event before it.` };
    this.#actor = actor;
    this.#before = `{"actor":${JSON.stringify(actor)},"life":${JSON.stringify(header.life)},"seq":`;
    if (!event.header.startsWith(this.#before + position))
      return { code: "MALFORMED", message: `Event ${seq} has a header in another form: it was not written by Troupe.` };
    return undefined;
  }
}

/** Never throws: the first flaw is part of the verdict. */
export function verify(events: Iterable<ChainEvent>, options?: VerifyOptions): Verdict {
  const verifier = new Verifier(options);
  for (const event of events) if (!verifier.add(event)) break;
  return verifier.end();
}

/** The same, for chains that are read page by page. */
export async function verifyStream(events: AsyncIterable<ChainEvent>, options?: VerifyOptions): Promise<Verdict> {
  const verifier = new Verifier(options);
  for await (const event of events) if (!verifier.add(event)) break;
  return verifier.end();
}
