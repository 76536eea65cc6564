import type { Socket } from "node:net";

/**
 * What was answered and is not read yet, all clients together: a client may ask for much at once and read nothing of it. Where it is
 * too much, who leaves most of it unread is dropped.
 */
export class Unread {
  readonly #most: number;
  readonly #onDrop: () => void;
  readonly #sockets = new Map<Socket, number>();
  #bytes = 0;

  constructor(most: number, onDrop: () => void) {
    this.#most = most;
    this.#onDrop = onDrop;
  }

  add(socket: Socket, bytes: number): void {
    this.#bytes += bytes;
    this.#sockets.set(socket, (this.#sockets.get(socket) ?? 0) + bytes);
    while (this.#bytes > this.#most) this.#dropOne();
  }

  /** For what was added: it was read, or will never be. */
  take(socket: Socket, bytes: number): void {
    const held = this.#sockets.get(socket);
    // It was dropped.
    if (held === undefined) return;
    this.#bytes -= bytes;
    if (held > bytes) this.#sockets.set(socket, held - bytes);
    else this.#sockets.delete(socket);
  }

  /** All that is left unread there now. */
  holds(socket: Socket, bytes: number): void {
    const before = this.#sockets.get(socket) ?? 0;
    if (bytes > before) this.add(socket, bytes - before);
    else if (bytes < before) this.take(socket, before - bytes);
  }

  #dropOne(): void {
    let [largest, most]: [Socket | undefined, number] = [undefined, 0];
    for (const [socket, bytes] of this.#sockets) if (bytes > most) [largest, most] = [socket, bytes];
    if (largest === undefined) return;
    this.#sockets.delete(largest);
    this.#bytes -= most;
    this.#onDrop();
    largest.destroy();
  }
}
