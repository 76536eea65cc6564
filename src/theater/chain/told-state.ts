import { apply } from "../../chain/index.ts";
import type { Body, Json } from "../../contract/index.ts";

/** An actor's state as its events tell it, one after the other; undefined where it cannot be known: a body before was erased. */
export class ToldState {
  #state: Json | undefined;

  get state(): Json | undefined {
    return this.#state;
  }

  next(body: Body | undefined): void {
    if (body === undefined) this.#state = undefined;
    else if (body.state !== undefined) this.#state = body.state;
    else if (body.patch !== undefined && this.#state !== undefined) this.#state = apply(this.#state, body.patch);
  }
}
