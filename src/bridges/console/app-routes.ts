// Owns: the route that takes the document of an MCP App, to be opened in a frame. Does not own: the documents (app-documents.ts).

import { isJsonObject } from "../../core/contract/index.ts";
import { documentsOf } from "./app-documents.ts";
import type { ConsoleRoute } from "./routes.ts";

const DOMAINS = { type: "array", items: { type: "string" } };

export const appRoutes: readonly ConsoleRoute[] = [
  {
    verb: "POST",
    path: "/apps",
    summary:
      "Takes the document of an MCP App, so that a frame can open it at `/console/app/{id}`, with a content security policy of its own.",
    body: {
      type: "object",
      properties: {
        html: { type: "string", description: "As its resource has it." },
        csp: {
          type: "object",
          description: "`_meta.ui.csp` of the resource. Absent: the app reaches nothing.",
          properties: { connectDomains: DOMAINS, resourceDomains: DOMAINS, frameDomains: DOMAINS, baseUriDomains: DOMAINS },
        },
      },
      required: ["html"],
    },
    answers: "AppDocument",
    handle: async ({ body: { html, csp } }, data) =>
      documentsOf(data).add(typeof html === "string" ? html : "", isJsonObject(csp) ? csp : {}),
  },
];
