import { InvalidArgument } from "./invalid.ts";

export const encodeBase64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

/** Accepts canonical base64 only: a guess would deliver bytes to an actor that no client sent. Throws `InvalidArgument`. */
export function decodeBase64(argument: string, text: string, maxBytes: number): Uint8Array {
  const invalidBase64 = (why: string): InvalidArgument =>
    new InvalidArgument(
      `\`${argument}\` is not base64: ${why}. Give the bytes in standard base64 (RFC 4648, section 4), padded with "=" to a multiple of four characters; {"n":1} is eyJuIjoxfQ==.`,
    );
  if (text.length > Math.ceil(maxBytes / 3) * 4)
    throw new InvalidArgument(`\`${argument}\` is longer than ${maxBytes} bytes: send less at a time.`);
  const body = text.replace(/={1,2}$/, "");
  const invalidCharacter = /[^A-Za-z0-9+/]/u.exec(body);
  if (invalidCharacter !== null) {
    const [character] = invalidCharacter;
    const hint = character === "-" || character === "_" ? " (that is base64url: write + for -, and / for _)" : "";
    throw invalidBase64(`it has ${JSON.stringify(character)} at ${invalidCharacter.index}${hint}`);
  }
  if (text.length % 4 !== 0) throw invalidBase64(`its length, ${text.length}, is no multiple of four`);
  const bytes = Buffer.from(text, "base64");
  // Bits beyond the last byte are zero in canonical base64 only.
  const end = text.slice(-4);
  if (Buffer.from(end, "base64").toString("base64") !== end) throw invalidBase64("its last character holds bits that belong to no byte");
  if (bytes.length > maxBytes) throw new InvalidArgument(`\`${argument}\` is longer than ${maxBytes} bytes: send less at a time.`);
  return bytes;
}
