/** The 13th digit of an ISBN, from its first twelve. */
export function checkDigit(twelve: string): string {
  const sum = Array.from(twelve, Number).reduce((total, digit, index) => total + digit * (index % 2 === 0 ? 1 : 3), 0);
  return String((10 - (sum % 10)) % 10);
}
