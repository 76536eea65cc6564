/** Lets the event loop look at all else: what a stage has in memory is answered without one turn of it. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
