// Owns: verifying that a request was signed by the server. Does not own: refusing it (the SDK).
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http2";
import type { Clock } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { isObject } from "./handler-inputs.ts";

const PREFIX = "publickeyv1_";
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const KEY_BYTES = 32;

/** The server makes one per actor and second. */
const MAX_TOKENS = 1_000;

/** Verifies requests of the server. Each has a token for its path (JWT, Ed25519) that is valid for a moment. */
export class RequestSignatures {
  readonly #keys: ReadonlyMap<string, KeyObject | undefined>;
  readonly #clock: Clock;
  /** Verified tokens, by their text. */
  readonly #verified = new Map<string, Token>();

  constructor(keys: readonly string[], clock: Clock) {
    this.#keys = new Map(keys.map((key) => [key, keyIn(key)]));
    this.#clock = clock;
  }

  /** Requests that it rejects are left to the SDK, which refuses them. */
  isSigned(path: string, headers: IncomingHttpHeaders): boolean {
    const text = headers["x-restate-signature-scheme"] === "v1" ? headers["x-restate-jwt-v1"] : undefined;
    if (typeof text !== "string") return false;
    const seconds = this.#clock.now() / 1_000;
    const known = this.#verified.get(text);
    const token = known ?? this.#tokenIn(text);
    if (token === undefined || token.path !== path || token.from > seconds || token.until <= seconds) return false;
    if (known !== undefined) return true;
    if (this.#verified.size >= MAX_TOKENS) this.#verified.clear();
    this.#verified.set(text, token);
    return true;
  }

  #tokenIn(text: string): Token | undefined {
    const [head = "", claims = "", signature = ""] = text.split(".");
    const header = textIn(head);
    const payload = textIn(claims);
    if (!isObject(header) || !isObject(payload) || header["alg"] !== "EdDSA" || typeof header["kid"] !== "string") return undefined;
    const key = this.#keys.get(header["kid"]);
    const { aud, nbf, exp } = payload;
    if (key === undefined || typeof aud !== "string" || typeof nbf !== "number" || typeof exp !== "number") return undefined;
    // Token libraries are asynchronous, and nothing of a request is read before its signature is verified.
    const signed = verify(undefined, Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, "base64url"));
    return signed ? { path: aud, from: nbf, until: exp } : undefined;
  }
}

interface Token {
  readonly path: string;
  /** Seconds since 1970. */
  readonly from: number;
  readonly until: number;
}

const textIn = (part: string): unknown => tryParseJson(Buffer.from(part, "base64url").toString("utf8"));

/** Undefined if it is invalid: the SDK refuses to start with such a key. */
function keyIn(key: string): KeyObject | undefined {
  const digits = Array.from(key.slice(PREFIX.length), (character) => ALPHABET.indexOf(character));
  if (!key.startsWith(PREFIX) || digits.includes(-1)) return undefined;
  const number = digits.reduce((sum, digit) => sum * 58n + BigInt(digit), 0n);
  const hex = number.toString(16).padStart(2 * KEY_BYTES, "0");
  if (hex.length !== 2 * KEY_BYTES) return undefined;
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(hex, "hex").toString("base64url") }, format: "jwk" });
}
