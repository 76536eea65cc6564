// Owns: the routes of queries in SQL. Does not own: running them (bridges/sql), the views (core/store/sql).

import type { Sql } from "../../core/contract/index.ts";
import { whyNoSql } from "./about-routes.ts";
import type { ConsoleData } from "./data.ts";
import { badRequest, notAvailable } from "./requests.ts";
import type { ConsoleRoute } from "./routes.ts";
import type { SqlRows, SqlViews } from "./shapes.ts";

const MOST_ROWS = 1_000;

export const sqlRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/sql",
    summary: "The views that queries in SQL may read, with their columns.",
    answers: "SqlViews",
    handle: async (_, data): Promise<SqlViews> => ({ views: await sqlOf(data).views() }),
  },
  {
    verb: "POST",
    path: "/sql",
    summary: "Runs one SELECT over the views, for at most 10 seconds. It ends when its client disconnects.",
    body: {
      type: "object",
      properties: {
        sql: { type: "string", minLength: 1, maxLength: 100_000 },
        limit: { type: "integer", minimum: 1, maximum: MOST_ROWS, default: MOST_ROWS },
      },
      required: ["sql"],
      additionalProperties: false,
    },
    answers: "SqlRows",
    async handle({ body, disconnected }, data): Promise<SqlRows> {
      const { sql, limit } = body;
      if (typeof sql !== "string") throw badRequest("sql must be a text.");
      return await sqlOf(data).query({ sql, ...(typeof limit === "number" && { limit }) }, disconnected);
    },
  },
];

/** Throws `NOT_AVAILABLE`. */
function sqlOf({ sql, about }: ConsoleData): Sql {
  if (sql === undefined) throw notAvailable(whyNoSql(about.engine));
  return sql;
}
