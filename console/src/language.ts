// Owns: a browser's language that JavaScript accepts. Does not own: formats (Intl chooses them).

/**
 * Chromium gives `en-US@posix` where the system has no language, which `Intl` refuses with a RangeError. The library of the charts takes it
 * from `navigator` as it loads, so it is replaced there.
 */
export function replaceInvalidLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en-US" });
  }
}
