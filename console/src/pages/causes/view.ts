// Owns: what every view of causes is given.
import type { Causes } from "./model.ts";

export interface ViewProps {
  readonly causes: Causes;
  /** The id of a step. */
  readonly selected: string;
  readonly select: (id: string) => void;
}
