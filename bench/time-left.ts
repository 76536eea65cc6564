// A quick run has two minutes for all, on a slow machine too: what goes by rounds ends with the first that finds its bench's time used up.
let endsAt = Number.POSITIVE_INFINITY;

export const mayTake = (ms: number): void => {
  endsAt = performance.now() + ms;
};

export const isTimeLeft = (): boolean => performance.now() < endsAt;
