// Owns: integers that JSON.parse rounds silently, so that an id becomes another one. Does not own: how they are refused.

/** A number between other values. Longer ones are Infinity. */
const WRITTEN = /(?<=[:,[\s])(-?\d{16,400})(?:\.0+)?(?=[,\]}\s])/g;

/** Whether a number that was read may have been written as another integer. */
export const mayBeRounded = (value: number): boolean => value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER;

/**
 * The first integer of a JSON text that was rounded to one of `values`. The digits that JavaScript writes for a double are not refused: they
 * mean that double to every client in JavaScript, and are written as the same digits again.
 */
export function roundedInteger(
  text: string,
  values: { readonly has: (value: number) => boolean },
): { readonly digits: string; readonly value: number } | undefined {
  for (const [, digits = ""] of text.matchAll(WRITTEN)) {
    const value = Number(digits);
    if (!values.has(value) || !Number.isFinite(value)) continue;
    if (BigInt(digits) !== BigInt(value) && digits !== String(value)) return { digits, value };
  }
  return undefined;
}
