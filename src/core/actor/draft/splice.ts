/** What goes from a place of a list on, and what comes there. */
export interface Splice {
  readonly from: number;
  readonly count: number;
  readonly items: readonly unknown[];
}

/** A method of lists that is one splice. */
export interface Splicing {
  readonly method: (this: never, ...given: never) => unknown;
  of(given: readonly unknown[], length: number): Splice;
  told(gone: readonly unknown[], length: number): unknown;
}

const whole = (value: unknown): number => Math.trunc(Number(value)) || 0;

const METHODS: readonly Splicing[] = [
  {
    method: Array.prototype.shift,
    of: (_, length) => ({ from: 0, count: Math.min(length, 1), items: [] }),
    told: ([first]) => first,
  },
  {
    method: Array.prototype.unshift,
    of: (items) => ({ from: 0, count: 0, items }),
    told: (_, length) => length,
  },
  {
    method: Array.prototype.splice,
    of: (given, length) => {
      const [start, count, ...items] = given;
      const at = whole(start);
      const from = at < 0 ? Math.max(0, length + at) : Math.min(at, length);
      // Without a second argument all behind the place goes; without any, nothing.
      const most = given.length === 1 ? length : whole(count);
      return { from, count: Math.min(length - from, Math.max(0, most)), items };
    },
    told: (gone) => gone,
  },
];

export const spliceOf = (method: object): Splicing | undefined => METHODS.find((one) => one.method === method);
