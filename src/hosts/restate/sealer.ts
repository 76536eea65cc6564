// Owns: encryption of secret arguments. Does not own: which kinds need it (kinds.ts).
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";
import { StoreError, type Json } from "../../core/contract/index.ts";
import { isObject } from "./handler-inputs.ts";

/** Encrypts secret arguments, so that they cannot be read on the server's disk. */
export interface Sealer {
  readonly seal: (value: unknown) => unknown;
  /** Throws `STORE_CORRUPT` if it was sealed with another secret, or changed. */
  readonly open: (value: unknown) => unknown;
}

export const isSealed = (value: unknown): value is { readonly sealed: string } => isObject(value) && typeof value["sealed"] === "string";

/** Used without a secret. */
export const unsealed: Sealer = {
  seal: (value) => value,
  open(value) {
    if (isSealed(value)) throw cannotOpen(undefined);
    return value;
  },
};

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM under keys derived from `secret`. The nonce follows from the text, since a turn that runs again must send the same bytes. It
 * reveals which texts are equal, and nothing else.
 */
export function sealer(secret: Uint8Array): Sealer {
  const key = Buffer.from(hkdfSync("sha256", secret, "", "troupe journal key", 32));
  const nonces = Buffer.from(hkdfSync("sha256", secret, "", "troupe journal nonce", 32));
  return {
    seal(value) {
      const text = JSON.stringify(value) ?? "null";
      const nonce = createHmac("sha256", nonces).update(text).digest().subarray(0, NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return { sealed: sealed.toString("base64") };
    },
    open(value) {
      // Its kind has no secrets, or had none when it was sent.
      if (!isSealed(value)) return value;
      try {
        const bytes = Buffer.from(value.sealed, "base64");
        const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
        const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
        const opened: Json = JSON.parse(text);
        return opened;
      } catch (error) {
        throw cannotOpen(error);
      }
    },
  };
}

const cannotOpen = (cause: unknown): StoreError =>
  new StoreError("STORE_CORRUPT", "What was sealed cannot be opened: all nodes of a cluster need the same secret.", { cause });
