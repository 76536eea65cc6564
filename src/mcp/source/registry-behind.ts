import { type OfferRef, TroupeError, type Viewer } from "../../core/contract/index.ts";
import { isTexts, nameOf, shapeOf } from "../../core/contract/internal.ts";

/** What says which values a template's variable may have now. Where it cannot, nothing is listed, and that is told of once. */
export class Behind {
  readonly #ref: OfferRef;
  readonly #variable: string;
  readonly #list: (viewer: Viewer) => unknown;
  #told = false;

  constructor(ref: OfferRef, variable: string, list: (viewer: Viewer) => unknown) {
    this.#ref = ref;
    this.#variable = variable;
    this.#list = list;
  }

  choicesFor(viewer: Viewer, fault: (error: TroupeError) => void): Readonly<Record<string, readonly string[]>> {
    return { [this.#variable]: this.#valuesFor(viewer, fault) };
  }

  #valuesFor(viewer: Viewer, fault: (error: TroupeError) => void): readonly string[] {
    let values: unknown;
    try {
      values = this.#list(viewer);
    } catch (cause) {
      return this.#nothing(fault, `threw ${nameOf(cause)}: mend it, the rest works`, cause);
    }
    if (isTexts(values)) return values;
    // Nobody waits for it, and what a promise rejects with unheard ends the process.
    if (values instanceof Promise) values.catch(() => undefined);
    return this.#nothing(fault, `gave ${shapeOf(values)}: give a list of texts, at once`);
  }

  #nothing(fault: (error: TroupeError) => void, what: string, cause?: unknown): readonly string[] {
    if (!this.#told) {
      this.#told = true;
      fault(new TroupeError("OUT_OF_ORDER", `${this.#ref} lists nothing: its \`list\` ${what}.`, { cause }));
    }
    return [];
  }
}
