import { StoreError } from "../contract/index.ts";

/** `limit` rows, or all there are; those that cannot be read are told of and do not count. Without `damaged`, throws what `read` throws. */
export function wholeRows<Columns, T>(
  limit: number,
  select: (limit: number) => readonly Columns[],
  read: (columns: Columns) => T,
  damaged: ((error: StoreError, columns: Columns) => void) | undefined,
): readonly T[] {
  for (let asked = limit; ;) {
    const rows = select(asked);
    const whole: T[] = [];
    const lost: (readonly [StoreError, Columns])[] = [];
    for (const columns of rows) {
      try {
        whole.push(read(columns));
      } catch (error) {
        if (damaged === undefined || !(error instanceof StoreError)) throw error;
        lost.push([error, columns]);
      }
    }
    if (whole.length < limit && rows.length >= asked) {
      asked = limit + lost.length;
      continue;
    }
    for (const [error, columns] of lost) damaged?.(error, columns);
    return whole;
  }
}
