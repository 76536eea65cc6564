/** Limits of the data in Theater's events: as lists of numbers in lists of numbers, bytes take up to forty times as much. */
/** A state, which each event repeats. */
export const STATE_BYTES = 16_384;
/** A parameter, a host call's argument or result, or a reply. */
export const VALUE_BYTES = 65_536;
/** All values that one event of ours refers to. */
export const EVENT_BYTES = 1_048_576;
