// Owns: the routes of the overview and of the doctor. Does not own: what they answer.

import type { ConsoleData } from "./data.ts";
import { findings } from "./doctor.ts";
import { errorDocs } from "./error-docs.ts";
import { overviewOf } from "./overview.ts";
import type { ConsoleRoute } from "./routes.ts";
import type { Finding, Pace, PageOf } from "./shapes.ts";

export const overviewRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/overview",
    summary: "Figures of actors, clients and the process, and what needs attention. The stream has them once a second.",
    answers: "Overview",
    handle: async (_, data) => await overviewOf(data).read(),
  },
  {
    verb: "GET",
    path: "/overview/history",
    summary: "What was measured in each second of the last quarter of an hour, oldest first. Empty where nothing runs.",
    answers: "PageOf<Pace>",
    handle: async (_, { live }): Promise<PageOf<Pace>> => ({ items: live?.paces ?? [] }),
  },
  {
    verb: "GET",
    path: "/doctor",
    summary: "What is wrong or unwise, worst first: errors that occurred, failed actors, slow turns, large states, and settings.",
    answers: "PageOf<Finding>",
    handle: async (_, data) => await diagnosis(data),
  },
];

async function diagnosis(data: ConsoleData): Promise<PageOf<Finding>> {
  const known = await overviewOf(data).known();
  const page = await data.errorPage?.();
  return { items: findings(data, { ...known, ...(page !== undefined && { errors: errorDocs(page) }) }) };
}
