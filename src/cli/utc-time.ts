const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/;

/** A day or a time as people write it, always UTC, in milliseconds since 1970. Undefined: it is none. */
export const utcTime = (text: string): number | undefined => {
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
};
