import { type OfferRef, TroupeError, type Viewer } from "../../core/contract/index.ts";
import { nameOf, unavailableMessage, shapeOf } from "../../core/contract/internal.ts";

const WANTED = "true, false, or as text the reason it is off";

/** What says whether an offer is on. One that cannot say puts its own offer off, and is told of once. */
export class Gate {
  readonly #ref: OfferRef;
  readonly #when: (viewer: Viewer) => unknown;
  #told = false;

  constructor(ref: OfferRef, when: (viewer: Viewer) => unknown) {
    this.#ref = ref;
    this.#when = when;
  }

  /** Undefined: on; text: off, and why; true: off. */
  whyOff(viewer: Viewer, fault: (error: TroupeError) => void): string | true | undefined {
    let said: unknown;
    try {
      said = this.#when(viewer);
    } catch (cause) {
      return this.#outOfOrder(fault, `threw ${nameOf(cause)}: mend it, the rest works`, cause);
    }
    if (said === true) return undefined;
    if (said === false) return true;
    if (typeof said === "string") return said;
    // Nobody waits for it, and what a promise rejects with unheard ends the process.
    if (said instanceof Promise) said.catch(() => undefined);
    return this.#outOfOrder(fault, `gave ${shapeOf(said)}: give ${WANTED}`);
  }

  #outOfOrder(fault: (error: TroupeError) => void, what: string, cause?: unknown): string {
    if (!this.#told) {
      this.#told = true;
      fault(new TroupeError("OUT_OF_ORDER", `${this.#ref} is out of order: what says whether it is on ${what}.`, { cause }));
    }
    return unavailableMessage(this.#ref);
  }
}
