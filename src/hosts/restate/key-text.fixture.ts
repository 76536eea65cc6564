import type { KeyObject } from "node:crypto";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** A public key as the server's log prints it. */
export function keyText(key: KeyObject): string {
  const { x = "" } = key.export({ format: "jwk" });
  let number = BigInt(`0x${Buffer.from(x, "base64url").toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = (ALPHABET[Number(number % 58n)] ?? "") + text;
  return `publickeyv1_${text}`;
}
