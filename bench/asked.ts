/** How thoroughly a bench is to measure. */
export interface Asked {
  /** Fewer and shorter rounds: seconds instead of a minute. */
  readonly quick: boolean;
}
