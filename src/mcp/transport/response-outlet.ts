import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Outlet, type OutletDoor } from "./outlet.ts";

/** The way out of a response whose head has been sent. */
export abstract class ResponseOutlet extends Outlet {
  protected readonly response: ServerResponse;
  // Kept: of very many streams each response that is looked at is a wait for the memory.
  #known: Socket | ServerResponse | null;

  /** `chunked`: false for HTTP/1.0, which knows no chunks. */
  constructor(response: ServerResponse, chunked: boolean, door: OutletDoor) {
    super(door);
    this.response = response;
    this.#known = chunked ? response.socket : response;
  }

  /** Whoever writes frames the chunks. A pipelined response has no socket until those before it have ended. */
  protected get direct(): boolean {
    return this.#way !== this.response;
  }

  protected override put(data: string | Uint8Array): void {
    this.#way.write(data);
  }

  override get queued(): number {
    return this.#way.writableLength;
  }

  protected override afterwards(run: () => void): void {
    this.#way.write("", run);
  }

  protected override destroy(): void {
    this.response.destroy();
  }

  get #way(): Socket | ServerResponse {
    return (this.#known ??= this.response.socket) ?? this.response;
  }
}
