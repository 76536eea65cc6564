import { isIP } from "node:net";
import type { WitValue } from "../wit.ts";
import { isPublic } from "./addresses.ts";
import { isAllowed } from "./allowed-urls.ts";
import { blockedError } from "./guarded-lookup.ts";
import type { HttpLimits } from "./http-limits.ts";
import { isList, record, someBytes, text } from "./values.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
export const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** Between two neighbours only, or made by the client itself. */
export const NOT_PASSED: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const MOST_HEADERS = 100;

/** What a guest asks for, checked. */
export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: string[];
  readonly body: Uint8Array | undefined;
}

/** Throws a sentence for the guest. */
export function read(asked: WitValue, allowed: readonly string[], { maxBytes = 4_194_304, allowPrivate = false }: HttpLimits): Asked {
  const fields = record(asked);
  const method = text(fields["method"]).toUpperCase();
  if (!METHODS.has(method)) throw new Error(`The method ${method.slice(0, 20)} is not offered: use one of ${[...METHODS].join(", ")}.`);
  const uri = text(fields["uri"]);
  if (uri.length > 8_192 || !URL.canParse(uri)) throw new Error("The uri is no absolute URL: write https://host/path.");
  const url = new URL(uri);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new Error("Only http: and https: are offered.");
  if (url.username !== "" || url.password !== "") throw new Error("A uri holds no password: send an authorization header.");
  if (!isAllowed(url, allowed))
    throw new Error(`${url.host} is not among the hosts its manifest allows: list it under allowed of its http-client.`);
  const literal = url.hostname.replace(/^\[|\]$/gu, "");
  if (!allowPrivate && isIP(literal) !== 0 && !isPublic(literal)) throw blockedError(url.hostname);
  const body = someBytes(fields["body"]);
  if (body !== undefined && body.length > maxBytes) throw new Error(`A body has at most ${maxBytes} bytes: send less.`);
  return { method, url, headers: passed(fields["headers"]), body };
}

function passed(headers: WitValue): string[] {
  if (!isList(headers) || headers.length > MOST_HEADERS) throw new Error(`A request has at most ${MOST_HEADERS} headers: send fewer.`);
  const flat: string[] = [];
  for (const header of headers) {
    if (!isList(header)) continue;
    const name = text(header[0]);
    if (!NOT_PASSED.has(name.toLowerCase())) flat.push(name, text(header[1]));
  }
  return flat;
}
