// The time limit of a bench in a quick run. Loops over rounds end when it has passed, so that all benches together take two minutes.
let endsAt = Number.POSITIVE_INFINITY;

export const mayTake = (ms: number): void => {
  endsAt = performance.now() + ms;
};

export const isTimeLeft = (): boolean => performance.now() < endsAt;
