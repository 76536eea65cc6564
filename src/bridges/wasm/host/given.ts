import type { WitValue } from "../wit.ts";

/** What an import gives its guest. */
export interface Given {
  readonly result: WitValue;
  /** It did something outside that cannot be undone. */
  readonly lasting?: boolean;
}
