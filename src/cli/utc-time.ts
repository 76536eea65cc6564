const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/;

/** A day or a time as people write it, always UTC, in milliseconds since 1970. Undefined: it is none. */
export const utcTime = (text: string): number | undefined => {
  const [day = ""] = text.split("T");
  // Of a day that its month does not have, V8 makes one of the next month.
  const isDay = TIME.test(text) && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  const time = isDay ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
};
