import type { ServerResponse } from "node:http";

/** Writes a web response out, not faster than the client reads it. Never throws: a client that has gone is not told. */
export async function writeOut(from: Response, to: ServerResponse): Promise<void> {
  if (to.destroyed || to.headersSent) return void from.body?.cancel().catch(() => undefined);
  for (const [name, value] of from.headers) to.setHeader(name, value);
  to.writeHead(from.status);
  if (from.body === null) return void to.end();
  const reader = from.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  to.once("close", leave);
  to.flushHeaders();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const piece: unknown = value;
      if (piece instanceof Uint8Array && !to.write(piece)) await drained(to);
      if (to.destroyed) return;
    }
    to.off("close", leave);
    to.end();
  } catch {
    to.destroy();
  }
}

/** The last that can be said: 500, or no more where the answer has begun. */
export function giveUpOn(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(500).end();
}

/** Settles when there is room again, or nobody left. */
function drained(to: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      to.off("drain", done);
      to.off("close", done);
      resolve();
    };
    to.on("drain", done);
    to.on("close", done);
    if (to.destroyed) done();
  });
}
