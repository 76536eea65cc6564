// Owns: the checks of a request's head: repeated headers, Host and Origin, method and CORS, media types. Does not own: the order of all
// steps of a request (http-core.ts), tokens (auth/).
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Answer, Gateway, OptionRule } from "../../core/contract/index.ts";
import { admitsReply, isTexts, memoizeByString, readAccept } from "../../core/contract/internal.ts";
import { refusal } from "../gateway/index.ts";
import { isLoopback } from "./listen.ts";

/** Headers that must not be repeated: with two values, an intermediary could see another request than this server (request smuggling). */
const ONCE = new Set([
  "authorization",
  "content-length",
  "content-type",
  "host",
  "idempotency-key",
  "last-event-id",
  "origin",
  "transfer-encoding",
]);

/** Keys are lower-case names. */
type HeaderMap = Readonly<Record<string, string | string[] | undefined>>;

/** A request's headers. Lookups use the map that node:http has made already; building another would be a second pass. */
export class HeaderList {
  readonly #map: HeaderMap;
  readonly #raw: readonly string[];

  /** `raw`: names and values as sent, to find repeated headers. */
  constructor(map: HeaderMap, raw: readonly string[]) {
    this.#map = map;
    this.#raw = raw;
  }

  get count(): number {
    return this.#raw.length / 2;
  }

  get names(): readonly string[] {
    return Object.keys(this.#map);
  }

  /** By its lower-case name; the values of a header that may be repeated are joined by commas. */
  get(name: string): string | undefined {
    const value = this.#map[name];
    if (typeof value === "string") return value;
    return Array.isArray(value) ? value.join(", ") : undefined;
  }

  /** The lower-case name of a header that was sent twice although it must not be repeated. */
  duplicated(): string | undefined {
    // If the map has as many names as were sent, none was repeated.
    let names = 0;
    for (const _name in this.#map) names += 1;
    return names === this.count ? undefined : this.#repeated();
  }

  #repeated(): string | undefined {
    const seen = new Set<string>();
    for (let index = 0; index < this.#raw.length; index += 2) {
      const name = (this.#raw[index] ?? "").toLowerCase();
      if (seen.has(name) && (ONCE.has(name) || name.startsWith("mcp-"))) return name;
      seen.add(name);
    }
    return undefined;
  }
}

export const headersOf = ({ headers, rawHeaders }: IncomingMessage): HeaderList => new HeaderList(headers, rawHeaders);

/** Headers as sent. An application may have added to the map of node:http, which then does not show repeated headers. */
export function headersAsSent(given: readonly string[]): HeaderList {
  const raw = withoutPseudoHeaders(given);
  const map = new Map<string, string>();
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    const before = map.get(name);
    map.set(name, before === undefined ? (raw[index + 1] ?? "") : `${before}, ${raw[index + 1] ?? ""}`);
  }
  return new HeaderList(Object.fromEntries(map), raw);
}

/**
 * The headers of a request of HTTP/2 as HTTP/1.1 has them: `:authority` takes the place of Host (RFC 9113, 8.3.1). A Host that differs stays
 * next to it, and is refused as repeated, since one of the two would not have been checked.
 */
function withoutPseudoHeaders(raw: readonly string[]): readonly string[] {
  // They come before all others.
  if (raw[0]?.startsWith(":") !== true) return raw;
  const pairs = Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] ?? "", raw[2 * at + 1] ?? ""] as const);
  const authority = pairs.find(([name]) => name === ":authority")?.[1];
  const others = pairs.filter(([name, value]) => !name.startsWith(":") && !(name.toLowerCase() === "host" && value === authority));
  return [...(authority === undefined ? [] : ["host", authority]), ...others.flat()];
}

/** The name part of `name:port`, lower-case, without brackets and the root's dot. Undefined: not a host. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]/@\\?#\s]+))(?::(\d{1,5}))?$/i.exec(host);
  const name = match?.[1] ?? match?.[2];
  return name?.toLowerCase().replace(/\.$/, "");
}

const isAddress = (name: string): boolean => isIP(name) !== 0;

export interface GuardOptions {
  /** The address the server listens on. */
  readonly host: string;
  /** Further names clients may use, `name` or `name:port`; `*` for any. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call, `https://app.example`, of any scheme; `*` for any. */
  readonly allowedOrigins: readonly string[];
  /** The address by which clients know the server, if it is another one. */
  readonly resource: string | undefined;
}

/**
 * Host and Origin checks against DNS rebinding: a page that rebinds its own name to this machine still sends that name as `Host`,
 * so only known names are accepted.
 */
export interface HttpGuard {
  /** True: the request names a host this server answers to. */
  host(value: string | undefined): boolean;
  /** True: it was not sent by a web page, or by one of an allowed origin. */
  origin(value: string | undefined, host: string): boolean;
  /** True: pages of that origin may read answers. */
  cors(value: string | undefined): value is string;
  /** Pages of some origins may read answers. */
  readonly hasCors: boolean;
}

export function httpGuard({ host, allowedHosts, allowedOrigins, resource }: GuardOptions): HttpGuard {
  const bound = hostName(host.includes(":") ? `[${host}]` : host);
  const local = isLoopback(host);
  const hosts = new Set(allowedHosts.map((entry) => entry.toLowerCase()));
  const origins = new Set(allowedOrigins.map(asSent));
  if (resource !== undefined && URL.canParse(resource)) hosts.add(new URL(resource).hostname);

  const knows = (value: string): boolean => {
    const name = hostName(value);
    if (name === undefined) return false;
    if (hosts.has("*") || hosts.has(name) || hosts.has(value.toLowerCase())) return true;
    if (isLoopback(name)) return true;
    // Beyond loopback an address is safe too: rebinding needs a name.
    return !local && (name === bound || isAddress(name));
  };

  const known = memoizeByString(knows);

  const listed = (value: string): boolean => origins.has("*") || origins.has(value.toLowerCase());

  return {
    host: (value) => value !== undefined && known(value),
    origin(value, hostHeader) {
      if (value === undefined || listed(value)) return true;
      const match = /^https?:\/\/([^/?#@]+)$/i.exec(value);
      if (match?.[1] === undefined) return false;
      const name = hostName(match[1]);
      if (local && name !== undefined && isLoopback(name)) return true;
      return match[1].toLowerCase() === hostHeader.toLowerCase();
    },
    cors: (value): value is string => value !== undefined && listed(value),
    hasCors: origins.size > 0,
  };
}

// URLs and patterns are refused: no Host header could match them.
const isHost = (text: string): boolean => text === "*" || isAddress(text) || (!text.includes("*") && hostName(text) !== undefined);

/** The rule for `allowedHosts`. */
export const HOSTS: OptionRule = [
  'a list of hosts, each a name as "mcp.example", with a port where that one alone counts, or "*"',
  (value) => isTexts(value) && value.every(isHost),
];

// RFC 6454, 6.2: any scheme. Not `null`, which pages of every site can have, and no patterns, which would match nothing.
const ORIGIN = /^(?:https?:\/\/[^/?#@*\s]+|(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s]*)\/?$/i;

/** As browsers send it: in lower case, without a slash at the end and the scheme's own port (RFC 6454, 6.2). */
function asSent(origin: string): string {
  const lower = origin.toLowerCase();
  return /^https?:/.test(lower) && URL.canParse(lower) ? new URL(lower).origin : lower.replace(/(?<!\/)\/$/, "");
}

/** The rule for `allowedOrigins`. */
export const ORIGINS: OptionRule = [
  'a list of origins, each of scheme and host as "https://app.example" or "chrome-extension://<id>", or "*"',
  (value) => isTexts(value) && value.every((one) => one === "*" || ORIGIN.test(one)),
];

/** The answer to a head that is malformed, ambiguous, or not meant for this server. `most`: how many headers it may have. */
export function refuseHead(headers: HeaderList, url: string, guard: HttpGuard, most: number): Answer | undefined {
  if (headers.count > most) return refusal("HEAD", `A request may have at most ${most} headers.`);
  const twice = headers.duplicated();
  if (twice !== undefined) {
    return refusal(twice.startsWith("mcp-") ? "HEADERS" : "INVALID_REQUEST", `The header ${twice} was sent twice: send it once.`);
  }
  // node:http accepts any list of codings that ends in `chunked`, and would not decode the others.
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

const REQUEST_HEADERS =
  "accept, authorization, content-type, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";
const EXPOSED = "mcp-protocol-version, mcp-session-id, retry-after, www-authenticate";
const MAX_AGE_S = "600";
// Tools may ask for arguments to be mirrored in headers of this form: a token of at most 128 characters (core/contract/mcp.ts).
const MIRRORED = /^mcp-param-[!#$%&'*+.^_`|~0-9a-z-]{1,128}$/;

/** Lets pages of an allowed origin read the answer. Without credentials: tokens are sent by the page itself, never by the browser. */
export function originHeaders(origin: string): Readonly<Record<string, string>> {
  return { "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED };
}

/** The answer to a CORS preflight. */
function preflight(headers: HeaderList, verbs: readonly string[]): Answer {
  const requested = (headers.get("access-control-request-headers") ?? "").toLowerCase().split(",").slice(0, 64);
  const mirrored = requested.map((name) => name.trim()).filter((name) => MIRRORED.test(name));
  return {
    status: 204,
    headers: {
      "access-control-allow-methods": verbs.join(", "),
      "access-control-allow-headers": [REQUEST_HEADERS, ...mirrored].join(", "),
      "access-control-max-age": MAX_AGE_S,
    },
  };
}

/** The answer to OPTIONS and to an unsupported method; undefined if the method is supported. */
export function answerVerb(method: string, verbs: readonly string[], guard: HttpGuard, headers: HeaderList): Answer | undefined {
  if (method !== "OPTIONS" && verbs.includes(method)) return undefined;
  const allow = { allow: [...verbs, "OPTIONS"].join(", ") };
  if (method !== "OPTIONS") return refusal("VERB", `This path takes ${verbs.join(", ")}.`, allow);
  const asks = guard.cors(headers.get("origin")) && headers.get("access-control-request-method") !== undefined;
  return asks ? preflight(headers, verbs) : { status: 204, headers: allow };
}

/** JSON in UTF-8, the only charset JSON has between systems (RFC 8259, 8.1). */
const isJson: (contentType: string) => boolean = memoizeByString((text) => {
  const [type = "", ...parameters] = text.split(";");
  if (type.trim().toLowerCase() !== "application/json") return false;
  for (const parameter of parameters) {
    const match = /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/i.exec(parameter);
    if (match !== null && match[1]?.toLowerCase() !== "utf-8") return false;
  }
  return true;
});

/** How strict a route is. */
interface MediaRules extends Pick<Gateway, "acceptsEither"> {
  /** A POST is answered without a body, so what it accepts does not matter. */
  readonly bodiless?: boolean;
}

/** The answer to an MCP request whose media types cannot be served. */
export function refuseMedia(method: string, headers: HeaderList, rules: MediaRules): Answer | undefined {
  if (method === "DELETE") return undefined;
  // No header admits everything (RFC 9110, 12.5.1).
  const admits = readAccept(headers.get("accept") ?? "*/*");
  if (method !== "POST") return admits.events ? undefined : refusal("NOT_ACCEPTABLE", "Send Accept: text/event-stream.");
  if (rules.bodiless !== true && !admitsReply(admits, rules.acceptsEither === true))
    return refusal("NOT_ACCEPTABLE", "Send Accept: application/json, text/event-stream.");
  return isJson(headers.get("content-type") ?? "") ? undefined : refusal("MEDIA_TYPE", "Send Content-Type: application/json.");
}

/** The answer to a compressed body: nothing here decompresses. */
export function refusePacked(headers: HeaderList): Answer | undefined {
  const coding = headers.get("content-encoding")?.trim().slice(0, 64).toLowerCase() ?? "";
  if (coding === "" || coding === "identity") return undefined;
  return refusal("MEDIA_TYPE", `Send the body as it is, without Content-Encoding: ${coding.replace(/[^a-z0-9, -]/g, "")}.`);
}
