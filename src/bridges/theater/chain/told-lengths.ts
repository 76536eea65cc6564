/** As lists of numbers in lists of numbers bytes take up to forty times as much, hence bounds on what Theater's events tell. */
/** A state, which each event repeats. */
export const STATE_BYTES = 16_384;
/** A parameter, what a host call was given or gave, a reply. */
export const VALUE_BYTES = 65_536;
/** All that is kept beside one event of ours. */
export const EVENT_BYTES = 1_048_576;
