import { hash, timingSafeEqual } from "node:crypto";
import { TroupeError } from "../../../core/contract/index.ts";

/** A static bearer token and who it stands for. Only its hash is held. */
export interface ApiKey {
  /** The principal of whoever presents it. */
  readonly name: string;
  /** SHA-256 of the key, 64 hex digits, as `hashApiKey` gives it. */
  readonly sha256: string;
  readonly scopes?: readonly string[];
  /** Milliseconds since 1970. Absent: until it is taken out. */
  readonly expiresAt?: number;
}

/** What is kept of a key: SHA-256 as hex. A key is random, at least 128 bits, so no salt is needed. */
export const hashApiKey = (key: string): string => hash("sha256", key, "hex");

// A principal of a token is `issuer|subject`: without the bar no key can pass for one.
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/;

export interface ApiKeyRing {
  readonly size: number;
  find(token: string): ApiKey | undefined;
}

/** Looks a key up in a time that depends on how many keys there are, never on how much of one was right. */
export function apiKeyRing(keys: readonly ApiKey[]): ApiKeyRing {
  const held = keys.map((key) => {
    if (!NAME.test(key.name)) {
      throw new TroupeError(
        "DOOR_OPTION",
        `"${key.name}" cannot name an API key: begin with a letter or digit and go on with those and . _ @ + -, at most 128 in all.`,
      );
    }
    if (!/^[0-9a-f]{64}$/i.test(key.sha256)) {
      throw new TroupeError(
        "DOOR_OPTION",
        `The API key "${key.name}" needs its SHA-256 as 64 hex digits: give it as hashApiKey(key) does.`,
      );
    }
    return { key, digest: Buffer.from(key.sha256, "hex") };
  });
  return {
    size: held.length,
    find(token) {
      const digest = hash("sha256", token, "buffer");
      let found: ApiKey | undefined;
      for (const one of held) if (timingSafeEqual(one.digest, digest)) found ??= one.key;
      return found;
    },
  };
}
