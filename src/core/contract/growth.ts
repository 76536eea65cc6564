/** No number, boolean or null takes more in JSON. */
export const SHORT_BYTES = 25;

/** No text takes more in JSON than this. */
export const textBytes = ({ length }: string): number => length * 6 + 2;

/** By how many bytes JSON grows at most by a text, a number, a boolean or null. Undefined: it is none of these, or no JSON. */
export function growthBy(value: unknown): number | undefined {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? SHORT_BYTES : undefined;
    case "string":
      return value.isWellFormed() ? textBytes(value) : undefined;
    case "boolean":
      return SHORT_BYTES;
    default:
      return value === null ? SHORT_BYTES : undefined;
  }
}
