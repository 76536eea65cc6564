import { connect, createServer, type Socket } from "node:net";
import { type Loopback, onLoopback } from "../on-loopback.ts";

/** A network link to a port, which can be cut in the ways networks are. */
export class CutLink implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  #state: "up" | "refused" | "black-holed" = "up";
  #loopback: Loopback | undefined;

  static async to(target: string): Promise<CutLink> {
    const link = new CutLink();
    const server = createServer({ allowHalfOpen: true }, (client) => {
      link.#keep(client);
      if (link.#state === "refused") {
        client.resetAndDestroy();
        return;
      }
      const upstream = connect(Number(new URL(target).port), "127.0.0.1");
      link.#keep(upstream);
      client.on("data", (data) => link.#state === "up" && upstream.write(data));
      upstream.on("data", (data) => link.#state === "up" && client.write(data));
      client.on("close", () => upstream.destroy());
      // A black hole tells neither end that the other has gone.
      upstream.on("close", () => link.#state !== "black-holed" && client.destroy());
    });
    link.#loopback = await onLoopback(server);
    return link;
  }

  get url(): string {
    return this.#loopback?.url ?? "";
  }

  /** Ends all connections, and every further one. */
  refuse(): void {
    this.#state = "refused";
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Connections stay, new ones are taken, and what is sent vanishes. */
  blackHole(): void {
    this.#state = "black-holed";
  }

  /** What was open in a black hole has lost bytes, so it ends. */
  mend(): void {
    this.#state = "up";
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.#loopback?.[Symbol.asyncDispose]();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}
