import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { until } from "../../src/testing/index.ts";

/** Holds whoever asks for `<url>/<name>?pid=…` until that name is opened. */
export class Gates implements AsyncDisposable {
  readonly #server: Server;
  readonly #waiting = new Map<string, ServerResponse[]>();
  readonly #came = new Map<string, number[]>();
  readonly #open = new Set<string>();

  private constructor() {
    this.#server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://gates");
      const name = pathname.slice(1);
      this.#came.set(name, [...this.came(name), Number(searchParams.get("pid"))]);
      if (this.#open.has(name)) response.end("through");
      else this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), response]);
    });
  }

  static async open(): Promise<Gates> {
    const gates = new Gates();
    gates.#server.listen(0, "127.0.0.1");
    await once(gates.#server, "listening");
    return gates;
  }

  at(name: string): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/${name}`;
  }

  /** The processes that came there, in order. */
  came(name: string): readonly number[] {
    return this.#came.get(name) ?? [];
  }

  /** The process that is the nth to come, from 1. */
  async comes(name: string, nth: number): Promise<number> {
    await until(`somebody comes to ${name}, for the ${nth}. time`, () => this.came(name).length >= nth);
    return this.came(name)[nth - 1] ?? 0;
  }

  /** Lets through who waits and whoever comes. */
  let(name: string): void {
    this.#open.add(name);
    for (const response of this.#waiting.get(name) ?? []) response.end("through");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
