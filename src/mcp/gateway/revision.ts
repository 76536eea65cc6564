// Owns: the revisions of MCP, which one a session gets, and the features that they differ in. Does not own: the revision of a request that names
// its own (envelope.ts), the shapes that features take.
/** Revisions with an initialize handshake, oldest first. */
export const LEGACY_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
/** Revisions whose requests carry their own envelope. */
export const MODERN_REVISIONS = ["2026-07-28"] as const;

export type LegacyRevision = (typeof LEGACY_REVISIONS)[number];
export type ModernRevision = (typeof MODERN_REVISIONS)[number];
export type Revision = LegacyRevision | ModernRevision;
export type Era = "legacy" | "modern";

export const LATEST_LEGACY: LegacyRevision = "2025-11-25";
export const LATEST_MODERN: ModernRevision = "2026-07-28";

/** The extension by which a call may go on after it was answered (SEP-2663). */
export const TASKS = "io.modelcontextprotocol/tasks";

interface Span {
  readonly since: Revision;
  /** The last revision that has it; absent: the newest one has it too. */
  readonly until?: Revision;
}

const FEATURES = {
  audio: { since: "2025-03-26" },
  toolAnnotations: { since: "2025-03-26" },
  completionsCapability: { since: "2025-03-26" },
  progressText: { since: "2025-03-26" },
  batches: { since: "2025-03-26", until: "2025-03-26" },
  titles: { since: "2025-06-18" },
  definitionMeta: { since: "2025-06-18" },
  outputSchema: { since: "2025-06-18" },
  structuredContent: { since: "2025-06-18" },
  resourceLinks: { since: "2025-06-18" },
  elicitation: { since: "2025-06-18" },
  icons: { since: "2025-11-25" },
  elicitationModes: { since: "2025-11-25" },
  choices: { since: "2025-11-25" },
  elicitationIds: { since: "2025-11-25", until: "2025-11-25" },
  samplingTools: { since: "2025-11-25" },
  primedStreams: { since: "2025-11-25", until: "2025-11-25" },
  tasks: { since: "2025-11-25", until: "2025-11-25" },
  anyStructured: { since: "2026-07-28" },
  envelopes: { since: "2026-07-28" },
} as const satisfies Record<string, Span>;

export type Feature = keyof typeof FEATURES;

// Revisions are dates: they compare as text.
function spans(span: Span, revision: Revision): boolean {
  return span.since <= revision && (span.until === undefined || revision <= span.until);
}

const features = new Map<Revision, Readonly<Partial<Record<Feature, true>>>>(
  [...LEGACY_REVISIONS, ...MODERN_REVISIONS].map((revision) => [
    revision,
    Object.fromEntries(Object.entries(FEATURES).flatMap(([name, span]) => (spans(span, revision) ? [[name, true]] : []))),
  ]),
);

/** Whether that revision of the protocol knows the feature. */
export function has(revision: Revision, feature: Feature): boolean {
  return features.get(revision)?.[feature] === true;
}

/** The revision of a session: the requested one if it is served, else the newest of those served. */
export function negotiate(served: readonly [LegacyRevision, ...LegacyRevision[]], wanted: string | undefined): LegacyRevision {
  return served.find((one) => one === wanted) ?? served.at(-1) ?? served[0];
}

export function isLegacyRevision(text: string): text is LegacyRevision {
  return LEGACY_REVISIONS.some((known) => known === text);
}

export function isModernRevision(text: string): text is ModernRevision {
  return MODERN_REVISIONS.some((known) => known === text);
}

export function eraOf(revision: Revision): Era {
  return has(revision, "envelopes") ? "modern" : "legacy";
}
