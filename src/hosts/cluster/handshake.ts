// Owns: how two nodes prove to each other that they know the secret. Does not own: the frames that carry the proofs (outgoing-link.ts,
// incoming-link.ts).
//
// The node that connects sends a nonce. The other answers with its own nonce and a MAC over both; only then does the first send its
// MAC. Each proof covers a nonce that its reader has chosen for this stream, so a recorded greeting is useless and clocks need not
// agree. Each names its role, so none can be sent back as the other's. Later frames carry no MAC: an attacker who can alter streams
// between nodes is on the private network already.
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { TroupeError } from "../../core/contract/index.ts";

const SECRET_BYTES = 32;

/** Both sides of a stream, and what each chose for it. */
export interface Greeting {
  readonly from: string;
  readonly to: string;
  /** URL of `from`. */
  readonly url: string;
  readonly nonce: string;
}

/** Derives a key of its own from the secret, which has other uses too. Throws `BAD_OPTION`. */
export function peersKey(secret: Uint8Array): Uint8Array {
  if (!(secret instanceof Uint8Array) || secret.length < SECRET_BYTES) {
    throw new TroupeError("BAD_OPTION", `A cluster's secret has at least ${SECRET_BYTES} bytes: draw them at random, once for all nodes.`);
  }
  return new Uint8Array(hkdfSync("sha256", secret, "", "troupe/cluster/peers/1", 32));
}

export const isNonce = (text: unknown): text is string => typeof text === "string" && /^[0-9a-f]{64}$/.test(text);

/** As hexadecimal text. */
export function proofOf(key: Uint8Array, role: "caller" | "acceptor", greeting: Greeting, nonce: string): string {
  const { from, to, url } = greeting;
  return createHmac("sha256", key)
    .update(JSON.stringify([role, 1, from, to, url, greeting.nonce, nonce]))
    .digest("hex");
}

/** Compares in constant time. */
export function sameProof(expected: string, given: unknown): boolean {
  if (typeof given !== "string" || given.length !== expected.length) return false;
  const one = Buffer.from(expected);
  const other = Buffer.from(given);
  return one.length === other.length && timingSafeEqual(one, other);
}
