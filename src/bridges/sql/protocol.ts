// Owns: what a process that runs queries is sent, and answers. Does not own: either end (query-process.ts, sql-child.ts).

import type { SqlResult, SqlView } from "../../core/contract/index.ts";

/** The first message of a process: from then on a query's time counts. */
export const READY = "ready";

export interface SqlRequest {
  readonly directory: string;
  readonly sessions?: string;
  readonly secret: string;
  readonly open: readonly string[];
  /** Absent: the views are listed. */
  readonly sql?: string;
  readonly limit?: number;
  readonly bounds: Bounds;
}

/** When the process ends itself: because its memory grows, or its parent may have ended. */
export interface Bounds {
  readonly ms: number;
  readonly bytes: number;
}

export type SqlAnswer = (
  | { readonly views: readonly SqlView[] }
  | { readonly result: SqlResult }
  | { readonly error: { readonly code: string; readonly message: string; readonly at?: number } }
) & {
  /** It has room for another request. */
  readonly again: boolean;
};
