// Owns: that recording is never a reason for a request to fail.

/** Undefined: it failed. */
export function safely<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
