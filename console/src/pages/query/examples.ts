// Owns: queries that answer common questions. Does not own: the views that they read (core/store/sql).

export interface NamedQuery {
  readonly title: string;
  readonly sql: string;
}

export const EXAMPLES: readonly NamedQuery[] = [
  {
    title: "Actors by kind and status",
    sql: `SELECT kind, status, count(*) AS actors
FROM actors
GROUP BY kind, status
ORDER BY actors DESC`,
  },
  {
    title: "Events per hour by kind",
    sql: `SELECT strftime('%Y-%m-%d %H:00', at / 1000, 'unixepoch') AS hour, kind, count(*) AS events
FROM events
GROUP BY hour, kind
ORDER BY hour DESC, events DESC`,
  },
  {
    title: "Who changed an actor",
    sql: `SELECT at, actor, seq, type, principal, patch, id
FROM events
WHERE patch IS NOT NULL -- AND patch -> '$.title' IS NOT NULL
ORDER BY position DESC
LIMIT 100`,
  },
  {
    title: "What a user did",
    sql: `SELECT principal, type, count(*) AS calls, max(at) AS last_at
FROM events
WHERE principal IS NOT NULL
GROUP BY principal, type
ORDER BY last_at DESC`,
  },
  {
    title: "Dead letters by reason",
    sql: `SELECT reason, receiver, action, count(*) AS letters, max(at) AS last_at
FROM letters
GROUP BY reason, receiver, action
ORDER BY letters DESC`,
  },
  {
    title: "Largest states that are stored",
    sql: `SELECT actor, max(seq) AS seq, octet_length(state) AS bytes
FROM events
WHERE state IS NOT NULL -- a whole one is stored every 256 events
GROUP BY actor
ORDER BY bytes DESC
LIMIT 20`,
  },
  {
    title: "Largest events",
    sql: `SELECT actor, seq, type, bytes, at, id
FROM events
ORDER BY bytes DESC
LIMIT 20`,
  },
  {
    title: "Messages that wait longest",
    sql: `SELECT sent_at, receiver, action, sender, failures, id
FROM outbox
ORDER BY sent_at
LIMIT 50`,
  },
  {
    title: "Events that caused most",
    sql: `SELECT cause, count(*) AS effects, min(at) AS first_at, max(at) AS last_at
FROM events
WHERE cause IS NOT NULL
GROUP BY cause
ORDER BY effects DESC
LIMIT 50`,
  },
  {
    title: "Next timers",
    sql: `SELECT at, actor, name, action, args
FROM timers
ORDER BY at
LIMIT 50`,
  },
];
