/** Of the first twelve digits of an ISBN, the thirteenth. */
export function checkDigit(twelve: string): string {
  const sum = Array.from(twelve, Number).reduce((total, digit, at) => total + digit * (at % 2 === 0 ? 1 : 3), 0);
  return String((10 - (sum % 10)) % 10);
}
