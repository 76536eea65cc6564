import type { Duplex } from "node:stream";
import type { Clock } from "../../core/contract/index.ts";

const LAST_WORDS_MS = 1_000;

/**
 * Ends a connection that was refused, after the answer, if any. What the client still sends is discarded, not left unread: unread
 * bytes would reset the connection and lose the answer. A client that does not close its side is cut off after a second.
 */
export function endRefused(socket: Duplex, clock: Clock, answer = ""): void {
  if (socket.destroyed) return;
  socket.resume();
  socket.end(answer);
  const undo = clock.after(LAST_WORDS_MS, () => void socket.destroy());
  socket.once("close", undo);
}
