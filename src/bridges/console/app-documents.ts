// Owns: the documents of MCP Apps that pages of the console show in frames: how they are answered, and with which content security policy.
// Does not own: the protocol between page and app (console/src/mcp/app-host.ts).

import { type Answer, isList, type JsonObject, systemEntropy } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";
import { sha256Hex } from "../../core/platform/index.ts";
import type { ConsoleData } from "./data.ts";
import type { AppDocument } from "./shapes.ts";

const MAX_DOCUMENTS = 64;
const MAX_BYTES = 16 * 1_048_576;

/** The method of the notification by which an app's document reports what its policy blocked. */
const BLOCKED = "troupe/notifications/blocked";

// Only a document itself learns what was blocked in it. It runs before the app's own scripts; an app that sends such reports itself
// misleads only its own author.
const REPORTER = `<script>{
  let left = 50;
  addEventListener("securitypolicyviolation", ({ effectiveDirective: directive, blockedURI: uri }) => {
    if (left-- > 0) parent.postMessage({ jsonrpc: "2.0", method: "${BLOCKED}", params: { directive, uri } }, "*");
  });
}</script>`;

/** Those of one console. A frame cannot send the console's token, so each has an address that cannot be guessed. */
export const documentsOf = memoize((data: ConsoleData) => new AppDocuments((data.entropy ?? systemEntropy).hex(16)));

interface StoredDocument {
  readonly policy: string;
  readonly html: Uint8Array;
}

class AppDocuments {
  readonly #secret: string;
  /** The most recent last. */
  readonly #documents = new Map<string, StoredDocument>();
  #bytes = 0;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The same document and domains have the same address. The oldest documents are dropped: the page adds its own again when it needs it. */
  add(html: string, csp: JsonObject): AppDocument {
    const { policy, ignored } = appPolicy(csp);
    const id = sha256Hex(`${this.#secret}\n${policy}\n${html}`);
    this.#drop(id);
    const stored = { policy, html: new TextEncoder().encode(withReporter(html)) };
    this.#documents.set(id, stored);
    this.#bytes += stored.html.length;
    for (const oldest of this.#documents.keys()) {
      if (this.#documents.size <= MAX_DOCUMENTS && this.#bytes <= MAX_BYTES) break;
      if (oldest !== id) this.#drop(oldest);
    }
    return { id, policy, ignored };
  }

  /** `headers`: those of every answer of the console that do not depend on what is answered. */
  answer(id: string, headers: Readonly<Record<string, string>>): Answer {
    const found = this.#documents.get(id);
    const plain = { ...headers, "cache-control": "no-store" };
    if (found === undefined)
      return {
        status: 404,
        headers: { ...plain, "content-type": "text/plain; charset=utf-8", "content-security-policy": "default-src 'none'; sandbox" },
        body: "This app is no longer stored: open it again in the console.",
      };
    return {
      status: 200,
      headers: { ...plain, "content-type": "text/html; charset=utf-8", "content-security-policy": found.policy },
      body: found.html,
    };
  }

  #drop(id: string): void {
    this.#bytes -= this.#documents.get(id)?.html.length ?? 0;
    this.#documents.delete(id);
  }
}

/** Behind the document type, without which browsers lay out in another way. */
function withReporter(html: string): string {
  const doctype = /^\s*<!doctype[^>]*>/i.exec(html)?.[0] ?? "";
  return doctype + REPORTER + html.slice(doctype.length);
}

// ── the policy, made of the domains that its resource declares ──────────────

const MAX_DOMAINS = 32;
const MAX_DOMAIN_LENGTH = 255;
// Keywords, schemes alone and `*` are no domains: with them an app could give itself a policy of any kind.
const DOMAIN = /^(?:(?:https?|wss?):\/\/)?(?:\*\.)?[a-z\d](?:[a-z\d.-]*[a-z\d])?(?::\d{1,5})?$/i;

interface AppPolicy {
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
    const declared = csp[name];
    for (const one of isList(declared) ? declared : []) {
      const domain = typeof one === "string" && one.length <= MAX_DOMAIN_LENGTH ? one.replace(/\/$/, "") : "";
      if (found.length < MAX_DOMAINS && DOMAIN.test(domain)) found.push(domain);
      else if (ignored.length < MAX_DOMAINS)
        ignored.push((typeof one === "string" ? one : JSON.stringify(one)).slice(0, MAX_DOMAIN_LENGTH));
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
