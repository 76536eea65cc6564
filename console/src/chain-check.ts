// Owns: verifying a chain in the page, from the texts that were hashed (C7): what the server says about them is not trusted. Does not
// own: fetching them, or what only the server can check, such as signatures.
import type { EventTexts } from "../../src/bridges/console/shapes.ts";

export interface ChainFlaw {
  readonly seq: number;
  readonly code: "CHANGED" | "BODY_CHANGED" | "MALFORMED" | "ORDER" | "FOREIGN";
  readonly message: string;
}

/** SHA-256 of a text's UTF-8, as 64 lower-case hex digits. */
export type Digest = (text: string) => Promise<string>;

const encoder = new TextEncoder();

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The browser's own, which browsers offer over HTTPS and on loopback only; elsewhere one of JavaScript, loaded when it is needed. */
export const digestHere: Digest = async (text) => {
  const bytes = encoder.encode(text);
  if (globalThis.crypto?.subtle !== undefined) return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
  const { sha256 } = await import("@noble/hashes/sha2.js");
  return hex(sha256(bytes));
};

interface Header {
  readonly actor: string;
  readonly life: string;
  readonly seq: number;
  readonly parent: string | null;
  readonly at: number;
  readonly type: string;
  readonly cause?: string;
  readonly body: string;
}

/** Undefined: it is not exactly what Troupe writes, so a parser may read something else than another one does. */
export function headerIn(text: string): Header | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isHeader(value)) return undefined;
  const { actor, life, seq, parent, at, type, cause, body } = value;
  const written = JSON.stringify({ actor, life, seq, parent, at, type, ...(cause === undefined ? {} : { cause }), body });
  return written === text ? value : undefined;
}

const isHeader = (value: unknown): value is Header =>
  typeof value === "object" &&
  value !== null &&
  "actor" in value &&
  typeof value.actor === "string" &&
  "life" in value &&
  typeof value.life === "string" &&
  "seq" in value &&
  typeof value.seq === "number" &&
  "parent" in value &&
  (value.parent === null || typeof value.parent === "string") &&
  "at" in value &&
  typeof value.at === "number" &&
  "type" in value &&
  typeof value.type === "string" &&
  (!("cause" in value) || typeof value.cause === "string") &&
  "body" in value &&
  typeof value.body === "string";

/** How one event's hashes compare: for its own page. */
export interface HashCheck {
  readonly header: boolean;
  /** Undefined: the body was erased. */
  readonly body: boolean | undefined;
}

export async function checkHashes({ id, header, body }: Omit<EventTexts, "seq">, digest: Digest): Promise<HashCheck> {
  const named = headerIn(header)?.body;
  return {
    header: named !== undefined && (await digest(header)) === id,
    body: body === undefined ? undefined : (await digest(body)) === named,
  };
}

/** Takes a chain's events in order, page by page, until the first flaw. Keeps none of them. */
export class ChainCheck {
  readonly #actor: string;
  readonly #digest: Digest;
  #head: string | null = null;
  #life: string | undefined;
  #seq = 0;
  #erased = 0;
  #flaw: ChainFlaw | undefined;

  constructor(actor: string, digest: Digest) {
    this.#actor = actor;
    this.#digest = digest;
  }

  /** How many events are valid. */
  get seq(): number {
    return this.#seq;
  }

  get head(): string | null {
    return this.#head;
  }

  /** How many bodies were erased. */
  get erased(): number {
    return this.#erased;
  }

  get flaw(): ChainFlaw | undefined {
    return this.#flaw;
  }

  /** False once there is a flaw. */
  async add(events: readonly EventTexts[]): Promise<boolean> {
    const checked = await Promise.all(
      events.map(async (event) => ({
        event,
        headerHash: await this.#digest(event.header),
        bodyHash: event.body === undefined ? undefined : await this.#digest(event.body),
      })),
    );
    for (const { event, headerHash, bodyHash } of checked) {
      if (this.#flaw !== undefined) return false;
      const flaw = this.#check(event, headerHash, bodyHash);
      if (flaw !== undefined) this.#flaw = { seq: this.#seq + 1, ...flaw };
    }
    return this.#flaw === undefined;
  }

  #check(event: EventTexts, headerHash: string, bodyHash: string | undefined): Omit<ChainFlaw, "seq"> | undefined {
    const seq = this.#seq + 1;
    if (headerHash !== event.id)
      return { code: "CHANGED", message: `The header of event ${seq} was changed: its hash is not its id ${event.id.slice(0, 12)}…` };
    const header = headerIn(event.header);
    if (header === undefined) return { code: "MALFORMED", message: `The header of event ${seq} is not in the form that Troupe writes.` };
    if (header.actor !== this.#actor) return { code: "FOREIGN", message: `Event ${seq} is of ${header.actor}, not of ${this.#actor}.` };
    if (header.seq !== seq || header.parent !== this.#head)
      return { code: "ORDER", message: `Event ${seq} does not follow the event before it: events are missing, repeated or out of order.` };
    if (bodyHash !== undefined && bodyHash !== header.body)
      return { code: "BODY_CHANGED", message: `The body of event ${seq} was changed: its hash is not the one that its header names.` };
    // The first event of another life has a whole state, as the first of all has.
    if (this.#life !== undefined && header.life !== this.#life && event.body !== undefined && !hasState(event.body))
      return { code: "FOREIGN", message: `Event ${seq} is of another life, which does not begin there.` };
    if (event.body === undefined) this.#erased += 1;
    this.#life = header.life;
    this.#head = event.id;
    this.#seq = seq;
    return undefined;
  }
}

function hasState(body: string): boolean {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && "state" in value;
  } catch {
    return false;
  }
}
