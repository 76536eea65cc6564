import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { TroupeError } from "../../core/contract/index.ts";

/**
 * How two nodes show each other that they know the secret: the one who connects sends a nonce, the other answers with its own
 * and a MAC over both, and only then the first sends its MAC. Each proof covers a nonce its reader drew for this stream, so
 * a recorded greeting is worth nothing and no clocks need to agree; each names its role, so none can be sent back as the other's.
 * What follows on the stream carries no MAC: whoever can alter streams between nodes is on the private network already.
 */

const SECRET_BYTES = 32;

/** Both sides of a stream, and what each drew for it. */
export interface Greeting {
  readonly from: string;
  readonly to: string;
  /** Of `from`. */
  readonly url: string;
  readonly nonce: string;
}

/** The secret serves other purposes too: each has a key of its own. Throws `BAD_OPTION`. */
export function peersKey(secret: Uint8Array): Uint8Array {
  if (!(secret instanceof Uint8Array) || secret.length < SECRET_BYTES) {
    throw new TroupeError("BAD_OPTION", `A cluster's secret has at least ${SECRET_BYTES} bytes: draw them at random, once for all nodes.`);
  }
  return new Uint8Array(hkdfSync("sha256", secret, "", "troupe/cluster/peers/1", 32));
}

export const isNonce = (text: unknown): text is string => typeof text === "string" && /^[0-9a-f]{64}$/.test(text);

/** In hex. */
export function proofOf(key: Uint8Array, role: "caller" | "acceptor", greeting: Greeting, nonce: string): string {
  const { from, to, url } = greeting;
  return createHmac("sha256", key)
    .update(JSON.stringify([role, 1, from, to, url, greeting.nonce, nonce]))
    .digest("hex");
}

/** Takes as long for any two of one length. */
export function sameProof(expected: string, given: unknown): boolean {
  if (typeof given !== "string" || given.length !== expected.length) return false;
  const one = Buffer.from(expected);
  const other = Buffer.from(given);
  return one.length === other.length && timingSafeEqual(one, other);
}
