import type { ActorId } from "../../contract/index.ts";
import type { Sandbox } from "../sandbox.ts";

/** An instance goes with the state its last call left: where that call's turn was not kept, it goes too, its globals with it. */
export class Ran {
  readonly #sandbox: Sandbox;
  readonly #last = new Map<ActorId, { readonly life: string; readonly seq: number }>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Before a call whose turn would be that event. */
  before(id: ActorId, life: string, seq: number): void {
    const last = this.#last.get(id);
    if (last !== undefined && (last.life !== life || last.seq >= seq)) this.forget(id);
  }

  after(id: ActorId, life: string, seq: number): void {
    this.#last.set(id, { life, seq });
  }

  forget(id: ActorId): void {
    this.#last.delete(id);
    this.#sandbox.forget(id);
  }
}
