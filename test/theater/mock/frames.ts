import type { Json } from "../../../src/core/contract/index.ts";

/** Written apart from src/bridges/theater/wire on purpose: a mistake in one does not hide in the other. */
export type MockCodec = "raw" | "fragmenting";

export function framed(text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

export const encoded = (codec: MockCodec, value: Json): Buffer => {
  const text = JSON.stringify(value);
  return framed(codec === "raw" ? text : JSON.stringify({ Complete: [...Buffer.from(text)] }));
};

/** Undefined: what serde would not parse. */
export function decoded(codec: MockCodec, payload: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(payload.toString());
    if (codec === "raw") return value;
    if (typeof value !== "object" || value === null || !("Complete" in value) || !Array.isArray(value.Complete)) return undefined;
    return JSON.parse(Buffer.from(value.Complete).toString());
  } catch {
    return undefined;
  }
}

/** Calls back with each whole payload. */
export function splitter(take: (payload: Buffer) => void): (chunk: Buffer) => void {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 4) {
      const length = held.readUInt32BE(0);
      if (held.length < 4 + length) return;
      const payload = held.subarray(4, 4 + length);
      held = held.subarray(4 + length);
      take(payload);
    }
  };
}
