// Owns: `GET /log`. Does not own: what is logged (log-book.ts).

import { isAddress } from "../../core/contract/internal.ts";
import type { ConsoleData } from "./data.ts";
import { type LogEntry, logRow } from "./log-book.ts";
import { badRequest, choiceIn, notAvailable, numberIn, pageLimit, SEQ, textIn } from "./requests.ts";
import { type ConsoleRequest, type ConsoleRoute, LONG_TEXT } from "./routes.ts";
import type { LogRow, PageOf } from "./shapes.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogEntry["level"][];
const PAGE = 200;

export const logRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/log",
    summary: "What the server logged since it started, newest first: the last 500 warnings and errors, and the last 1,000 others.",
    query: {
      after: { description: "Only entries before this one: `next` of the page before.", schema: { ...SEQ, minimum: 1 } },
      limit: pageLimit(1_500, PAGE),
      level: { description: "Only of this level and worse.", schema: { type: "string", enum: LEVELS } },
      actor: { description: "Only about this actor: kind/key.", schema: LONG_TEXT },
      search: { description: "Only with this text in the event or its fields, in any letter case." },
    },
    answers: "PageOf<LogRow>",
    handle: async (request, data) => logPage(request, data),
  },
];

function logPage(request: ConsoleRequest, { live }: ConsoleData): PageOf<LogRow> {
  if (live === undefined) throw notAvailable("The log is not recorded here: GET /console/api says why.");
  const limit = numberIn(request, "limit") ?? PAGE;
  const before = numberIn(request, "after") ?? Infinity;
  const least = LEVELS.indexOf(choiceIn(request, "level", LEVELS) ?? "debug");
  const actor = textIn(request, "actor");
  if (actor !== undefined && !isAddress(actor)) throw badRequest("actor must be an id such as counter/main.");
  const search = textIn(request, "search")?.toLowerCase();
  const items: LogRow[] = [];
  for (const entry of live.log.newest()) {
    if (entry.n >= before || LEVELS.indexOf(entry.level) < least) continue;
    if (actor !== undefined && entry.fields["actor"] !== actor) continue;
    if (search !== undefined && !isIn(entry, search)) continue;
    const last = items.at(-1);
    if (items.length === limit && last !== undefined) return { items, next: String(last.n) };
    items.push(logRow(entry));
  }
  return { items };
}

const isIn = ({ event, fields }: LogEntry, search: string): boolean =>
  event.toLowerCase().includes(search) || JSON.stringify(fields).toLowerCase().includes(search);
