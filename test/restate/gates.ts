import { createServer, type ServerResponse } from "node:http";
import { until } from "../../src/testing/index.ts";
import { type Loopback, onLoopback } from "../on-loopback.ts";

/** Holds whoever asks for `<url>/<name>?pid=…` until that name is opened. */
export class Gates implements AsyncDisposable {
  #server: Loopback | undefined;
  readonly #waiting = new Map<string, ServerResponse[]>();
  readonly #came = new Map<string, number[]>();
  readonly #open = new Set<string>();

  static async open(): Promise<Gates> {
    const gates = new Gates();
    gates.#server = await onLoopback(
      createServer((request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? "/", "http://gates");
        const name = pathname.slice(1);
        gates.#came.set(name, [...gates.came(name), Number(searchParams.get("pid"))]);
        if (gates.#open.has(name)) response.end("through");
        else gates.#waiting.set(name, [...(gates.#waiting.get(name) ?? []), response]);
      }),
    );
    return gates;
  }

  at(name: string): string {
    return `${this.#server?.url}/${name}`;
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
    await this.#server?.[Symbol.asyncDispose]();
  }
}
