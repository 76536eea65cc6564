const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "its permissions do not allow it",
  EPERM: "its permissions do not allow it",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of its path is no folder",
  ELOOP: "its links lead in a circle",
};

/** In words, why a file cannot be read. */
export const whyUnreadable = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return REASONS[code] ?? error.message;
};
