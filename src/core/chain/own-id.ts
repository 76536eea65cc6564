const MARK = "engine.";

/** Id of a message an engine sends on its own account, from hex digits: neither a door's, an actor's nor a wake's begins like it. */
export const ownId = (digits: string): string => MARK + digits;

export const isOwnId = (id: string): boolean => id.startsWith(MARK);
