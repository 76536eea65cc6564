// Owns: the names of sessions and clients as people read them.

/** `session|03150d6e…` is `03150d6e`; a client without sessions goes by its own name. */
export const sessionLabel = (name: string): string => (name.startsWith("session|") ? name.slice(8, 16) : name.replaceAll("|", " "));
