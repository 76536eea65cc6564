type Search = (this: never, ...given: never) => unknown;

const SEARCHES: readonly Search[] = [Array.prototype.includes, Array.prototype.indexOf, Array.prototype.lastIndexOf];

/** A method of lists that looks for a value. */
export const searchOf = (method: object): Search | undefined => SEARCHES.find((one) => one === method);
