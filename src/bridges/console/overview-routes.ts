// Owns: the routes of the overview and of the doctor. Does not own: what they answer.

import { omitUndefined } from "../../core/contract/internal.ts";
import type { ConsoleData } from "./data.ts";
import { findings } from "./doctor.ts";
import { errorDocs } from "./error-docs.ts";
import { overviewOf } from "./overview.ts";
import type { ConsoleRoute } from "./routes.ts";
import type { Finding, PageOf } from "./shapes.ts";

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
    path: "/doctor",
    summary: "What is wrong or unwise, worst first: errors that occurred, failed actors, slow turns, large states, and settings.",
    answers: "PageOf<Finding>",
    handle: async (_, data) => await diagnosis(data),
  },
];

async function diagnosis(data: ConsoleData): Promise<PageOf<Finding>> {
  const letters = await overviewOf(data).letters();
  const page = await data.errorPage?.();
  return { items: findings(data, { ...omitUndefined({ letters }), ...(page !== undefined && { errors: errorDocs(page) }) }) };
}
