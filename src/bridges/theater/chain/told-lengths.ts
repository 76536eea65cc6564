/** Limits of the data in Theater's events: as lists of numbers in lists of numbers, bytes take up to forty times as much. */
/** A state, which each event repeats. */
export const MAX_STATE_BYTES = 16_384;
/** A parameter, a host call's argument or result, or a reply. */
export const MAX_VALUE_BYTES = 65_536;
/** All values that one event of ours refers to. */
export const MAX_EVENT_BYTES = 1_048_576;
