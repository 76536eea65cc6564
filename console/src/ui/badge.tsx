// Owns: small coloured words for a status. The word says it, not the colour alone.

const LEVELS: Readonly<Record<string, string>> = {
  live: "good",
  connected: "good",
  lost: "bad",
  ok: "good",
  on: "good",
  verified: "good",
  failed: "bad",
  error: "bad",
  "tool-error": "bad",
  stopped: "dim",
  off: "dim",
  cancelled: "dim",
  warning: "warning",
  warn: "warning",
  info: "",
  debug: "dim",
  paused: "warning",
  running: "warning",
  working: "warning",
  input_required: "warning",
  completed: "good",
  notification: "dim",
};

export const Badge = ({ word }: { readonly word: string }) => <span class={`badge ${LEVELS[word] ?? ""}`}>{word}</span>;
