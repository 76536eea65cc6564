// Owns: the symbols of steps through a history: fonts of some systems have none for them.

const PATHS = {
  first: "M4 3v10M13 3 6 8l7 5z",
  previous: "M11 3 4 8l7 5z",
  next: "M5 3l7 5-7 5z",
  last: "M12 3v10M3 3l7 5-7 5z",
} as const;

export const StepIcon = ({ to }: { readonly to: keyof typeof PATHS }) => (
  <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" class="step-icon">
    <path d={PATHS[to]} fill="currentColor" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" />
  </svg>
);
