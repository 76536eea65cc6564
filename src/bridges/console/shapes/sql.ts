// Owns: the JSON of queries in SQL.

import type { SqlQuery, SqlResult, SqlView } from "../../../core/contract/index.ts";

/** `GET /sql`: what queries may read. */
export interface SqlViews {
  readonly views: readonly SqlView[];
}

/** `POST /sql` */
export type SqlInput = SqlQuery;

/** What a query found. */
export type SqlRows = SqlResult;
