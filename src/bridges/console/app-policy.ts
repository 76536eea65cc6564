// Owns: the content security policy of an MCP App, made of the domains that its resource declares. Does not own: the document
// (app-documents.ts).

import { isList, type Json, type JsonObject } from "../../core/contract/index.ts";

const MAX_DOMAINS = 32;
const MAX_LENGTH = 255;
// Keywords, schemes alone and `*` are no domains: with them an app could give itself a policy of any kind.
const DOMAIN = /^(?:(?:https?|wss?):\/\/)?(?:\*\.)?[a-z\d](?:[a-z\d.-]*[a-z\d])?(?::\d{1,5})?$/i;

export interface AppPolicy {
  /** The header's value. */
  readonly policy: string;
  /** What was declared and is no domain, so it was left out. */
  readonly ignored: readonly string[];
}

/** Of `_meta.ui.csp`. An app may run what is in its own document, and reach the declared domains; everything else is blocked. */
export function appPolicy(csp: JsonObject): AppPolicy {
  const ignored: string[] = [];
  const domains = (name: string): string => {
    const found: string[] = [];
    for (const one of listOf(csp[name])) {
      const domain = typeof one === "string" && one.length <= MAX_LENGTH ? one.replace(/\/$/, "") : "";
      if (found.length < MAX_DOMAINS && DOMAIN.test(domain)) found.push(domain);
      else if (ignored.length < MAX_DOMAINS) ignored.push((typeof one === "string" ? one : JSON.stringify(one)).slice(0, MAX_LENGTH));
    }
    return found.join(" ");
  };
  const resources = domains("resourceDomains");
  const directives: readonly (readonly string[])[] = [
    ["default-src", "'none'"],
    ["script-src", "'unsafe-inline'", resources],
    ["style-src", "'unsafe-inline'", resources],
    ["img-src", "data:", "blob:", resources],
    ["media-src", "data:", "blob:", resources],
    ["font-src", "data:", resources],
    ["connect-src", domains("connectDomains") || "'none'"],
    ["frame-src", domains("frameDomains") || "'none'"],
    ["base-uri", domains("baseUriDomains") || "'none'"],
    ["form-action", "'none'"],
    ["frame-ancestors", "'self'"],
    // Also where the document is not in a frame of the console: it never has the console's origin.
    ["sandbox", "allow-scripts", "allow-forms"],
  ];
  const policy = directives.map((words) => words.filter((word) => word !== "").join(" ")).join("; ");
  return { policy, ignored };
}

const listOf = (value: Json | undefined): readonly Json[] => (isList(value) ? value : []);
