// Owns: the query that finds a text in the states of actors and in events.

export const MOST_FOUND = 100;
/** Of the result, in order. `type` is null where the text is in a state. */
export const COLUMNS = ["type", "actor", "seq", "at", "principal", "text"] as const;

/** In states as they are now, and in what events recorded. */
export function textQuery(text: string): string {
  const pattern = text.replaceAll(/[\\%_]/g, String.raw`\$&`).replaceAll("'", "''");
  const has = `LIKE '%${pattern}%' ESCAPE '\\'`;
  return `SELECT NULL AS type, id AS actor, seq, updated_at AS at, NULL AS principal, state AS text
FROM actors WHERE state ${has}
UNION ALL
SELECT type, actor, seq, at, principal,
  CASE WHEN args ${has} THEN args WHEN patch ${has} THEN patch ELSE reply END
FROM events WHERE args ${has} OR patch ${has} OR reply ${has}
ORDER BY at DESC
LIMIT ${MOST_FOUND}`;
}
