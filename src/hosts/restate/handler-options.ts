/**
 * Of every handler. Journals hold arguments: none outlives its turn. What has to be tried again is tried until it is done: by the
 * server's own policy it would come to rest, and with it the actor, were its nodes away for some minutes.
 */
export const UNTIL_DONE = {
  journalRetention: 0,
  retryPolicy: { initialInterval: 50, maxInterval: 5_000, exponentiationFactor: 2, maxAttempts: 1_000_000_000 },
};
