const AGE = /^(\d{1,6})([dhm])$/;
const UNIT: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };

/** How long, as people write it (30d, 12h, 90m), in milliseconds. Undefined: it is none. */
export const ageMs = (text: string): number | undefined => {
  const [, count, unit = ""] = AGE.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNIT[unit] ?? 0);
};
