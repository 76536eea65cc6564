// Owns: the documents of MCP Apps that pages of the console show in frames, and how they are answered. Does not own: which domains they
// may reach (app-policy.ts), the protocol between page and app (console/src/mcp/app-host.ts).

import { type Answer, type JsonObject, systemEntropy } from "../../core/contract/index.ts";
import { memoize } from "../../core/contract/internal.ts";
import { sha256Hex } from "../../core/platform/index.ts";
import { appPolicy } from "./app-policy.ts";
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
