import type { Answer } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";
import type { HttpGuard } from "./http-guard.ts";
import type { HeaderList } from "./http-headers.ts";

export interface HeadRules {
  readonly guard: HttpGuard;
  /** How many headers. */
  readonly headers: number;
}

/** What is wrong with a request as far as its head says, before anybody looks at where it goes. */
export function refuseHead({ guard, headers: most }: HeadRules, headers: HeaderList, url: string): Answer | undefined {
  if (headers.count > most) return refusal("HEAD", `A request may have at most ${most} headers.`);
  const twice = headers.duplicated();
  if (twice !== undefined) {
    return refusal(twice.startsWith("mcp-") ? "HEADERS" : "INVALID_REQUEST", `The header ${twice} was sent twice: send it once.`);
  }
  // node:http takes any list of codings that ends in chunks, and would hand a packed body over as it is.
  const coding = headers.get("transfer-encoding");
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return refusal("INVALID_REQUEST", "Of transfer codings only chunked is taken: send the body unpacked.");
  const host = headers.get("host");
  if (host === undefined || !url.startsWith("/"))
    return refusal("INVALID_REQUEST", "Send a Host header and a path that begins with a slash.");
  if (!guard.host(host)) {
    return refusal(
      "FOREIGN",
      "This server is not known by that Host: use its own address, or allow the name (allowedHosts, on the command line --allow-host) when it is yours.",
    );
  }
  if (!guard.origin(headers.get("origin"), host)) {
    return refusal(
      "FOREIGN",
      "Pages of that Origin may not call this server: allow the origin (allowedOrigins, on the command line --allow-origin) when it is yours.",
    );
  }
  return undefined;
}

/** Without the query. */
export function pathOf(url: string): string {
  const mark = url.indexOf("?");
  return mark < 0 ? url : url.slice(0, mark);
}
