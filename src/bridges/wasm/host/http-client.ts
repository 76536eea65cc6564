// Owns: the interface `http-client`: one HTTP request to an allowed, public address.
import { BlockList, isIP, type LookupFunction } from "node:net";
import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import type { Clock } from "../../../core/contract/index.ts";
import { isList, type WitValue } from "../wit.ts";
import { ok, asRecord, asOptionalBytes, asText } from "./values.ts";
import type { ImportResult } from "../sandbox.ts";
import { messageOf } from "../wasm-error.ts";

export interface HttpLimits {
  /** Permits loopback and private addresses, for tests and trusted networks. Default false. */
  readonly allowPrivate?: boolean;
  /** Resolves names. Default: the system's resolver. */
  readonly lookup?: LookupFunction;
  /** The most bytes of a request body and of a response body. Default 4 MiB. */
  readonly maxBytes?: number;
  /** From the request to the end of the response, in milliseconds. Default 30 s. */
  readonly timeoutMs?: number;
}

const MAX_BYTES = 4 * 1_048_576;

export async function sendHttp(
  given: WitValue,
  allowed: readonly string[],
  limits: HttpLimits,
  clock: Clock,
  signal: AbortSignal,
): Promise<ImportResult> {
  const request = parseRequest(given, allowed, limits);
  const lasting = !SAFE.has(request.method);
  try {
    return { result: ok(await exchange(request, limits, clock, signal)), lasting };
  } catch (error) {
    const why = messageOf(error);
    return { result: { err: `${request.method} ${request.url.origin} failed: ${why}` }, lasting };
  }
}

async function exchange(given: HttpRequest, limits: HttpLimits, clock: Clock, outer: AbortSignal): Promise<WitValue> {
  const { maxBytes = MAX_BYTES, timeoutMs = 30_000 } = limits;
  const over = new AbortController();
  const undo = clock.after(timeoutMs, () => over.abort(new Error(`it took longer than ${timeoutMs} ms`)));
  const signal = AbortSignal.any([outer, over.signal]);
  try {
    const response = await sendRequest(given, limits, signal);
    return await readResponse(response, maxBytes);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    undo();
    over.abort();
  }
}

// Redirects are not followed: the guest may request the new location, which is checked again.
function sendRequest({ method, url, headers, body }: HttpRequest, limits: HttpLimits, signal: AbortSignal): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? overHttps : overHttp;
  return new Promise((resolve, reject) => {
    const length = body === undefined || body.length === 0 ? [] : ["content-length", String(body.length)];
    const sent = request(url, {
      method,
      headers: ["host", url.host, ...headers, ...length],
      lookup: publicLookup(limits),
      agent: false,
      signal,
      maxHeaderSize: 16_384,
    });
    sent.once("response", (response) => {
      // The reader gets the error from its iteration. Without a listener, the event would end the process.
      response.on("error", () => undefined);
      resolve(response);
    });
    sent.on("error", reject);
    sent.once("upgrade", (_, socket) => {
      socket.destroy();
      reject(new Error("the server wants another protocol"));
    });
    sent.end(body);
  });
}

async function readResponse(response: IncomingMessage, maxBytes: number): Promise<WitValue> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response) {
    if (!Buffer.isBuffer(part)) continue;
    length += part.length;
    if (length > maxBytes) throw new Error(`the response has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  const headers: string[][] = [];
  const { rawHeaders } = response;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!HOP_HEADERS.has(name.toLowerCase())) headers.push([name, rawHeaders[index + 1] ?? ""]);
  }
  return { status: response.statusCode ?? 0, headers, body: new Uint8Array(Buffer.concat(parts)) };
}

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** Headers that apply to one connection, or that the client sets itself. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
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

/** A checked request. */
interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: string[];
  readonly body: Uint8Array | undefined;
}

/** Checks a request of a guest. Throws an error with a message for the guest. */
function parseRequest(
  given: WitValue,
  allowed: readonly string[],
  { maxBytes = MAX_BYTES, allowPrivate = false }: HttpLimits,
): HttpRequest {
  const fields = asRecord(given);
  const method = asText(fields["method"]).toUpperCase();
  if (!METHODS.has(method)) throw new Error(`The method ${method.slice(0, 20)} is not offered: use one of ${[...METHODS].join(", ")}.`);
  const uri = asText(fields["uri"]);
  if (uri.length > 8_192 || !URL.canParse(uri)) throw new Error("The uri is no absolute URL: write https://host/path.");
  const url = new URL(uri);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new Error("Only http: and https: are offered.");
  if (url.username !== "" || url.password !== "") throw new Error("A uri holds no password: send an authorization header.");
  if (!isAllowed(url, allowed))
    throw new Error(`${url.host} is not among the hosts its manifest allows: list it under allowed of its http-client.`);
  const literal = url.hostname.replace(/^\[|\]$/gu, "");
  if (!allowPrivate && isIP(literal) !== 0 && !isPublic(literal)) throw blockedError(url.hostname);
  const body = asOptionalBytes(fields["body"]);
  if (body !== undefined && body.length > maxBytes) throw new Error(`A body has at most ${maxBytes} bytes: send less.`);
  return { method, url, headers: passedHeaders(fields["headers"]), body };
}

function passedHeaders(headers: WitValue): string[] {
  if (!isList(headers) || headers.length > MOST_HEADERS) throw new Error(`A request has at most ${MOST_HEADERS} headers: send fewer.`);
  const flat: string[] = [];
  for (const header of headers) {
    if (!isList(header)) continue;
    const name = asText(header[0]);
    if (!HOP_HEADERS.has(name.toLowerCase())) flat.push(name, asText(header[1]));
  }
  return flat;
}

const DEFAULT_PORT: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * Whether a manifest's allow list permits a URL. An entry is a host (`api.example.org`, with a port `api.example.org:8443`; `*.example.org`
 * for all subdomains), a URL prefix (`https://api.example.org/v1/`), or `*` for every host. A host without a port means the scheme's
 * default port.
 */
export function isAllowed(url: URL, allowed: readonly string[]): boolean {
  return allowed.some((entry) => entry === "*" || (entry.includes("://") ? isBelow(url, entry) : isHost(url, entry)));
}

function isHost(url: URL, entry: string): boolean {
  const wanted = entry.toLowerCase();
  const port = url.port === "" ? DEFAULT_PORT[url.protocol] : url.port;
  const hasPort = /:\d+$/u.test(wanted) && !wanted.endsWith("]");
  const host = hasPort ? wanted.slice(0, wanted.lastIndexOf(":")) : wanted;
  if (hasPort ? wanted.slice(host.length + 1) !== port : url.port !== "") return false;
  return host.startsWith("*.") ? url.hostname.endsWith(host.slice(1)) : url.hostname === host;
}

/** Compares whole segments: `https://a.example/v1` is not a prefix of `https://a.example/v10` or `https://a.example.evil.test/`. */
function isBelow(url: URL, entry: string): boolean {
  if (!URL.canParse(entry)) return false;
  const prefix = new URL(entry);
  if (prefix.protocol !== url.protocol || prefix.host !== url.host) return false;
  const { pathname } = prefix;
  return url.pathname === pathname || url.pathname.startsWith(pathname.endsWith("/") ? pathname : `${pathname}/`);
}

const blockedError = (host: string): Error =>
  new Error(`${host} is a private, loopback or reserved address: guests reach public addresses only.`);

/** A lookup that returns only public addresses. The connection uses its result, so no second lookup can differ. */
function publicLookup({ allowPrivate = false, lookup = systemLookup }: HttpLimits): LookupFunction {
  return (hostname, options, callback) => {
    const all: LookupOptions = { ...options, all: true };
    const found = (error: NodeJS.ErrnoException | null, given: string | LookupAddress[]): void => {
      if (error) return callback(error, "");
      const addresses = typeof given === "string" ? [{ address: given, family: isIP(given) }] : given;
      const open = allowPrivate ? addresses : addresses.filter(({ address }) => isPublic(address));
      const [first] = open;
      if (first === undefined) return callback(blockedError(hostname), "");
      if (options.all === true) callback(null, open);
      else callback(null, first.address, first.family);
    };
    lookup(hostname, all, found);
  };
}

const SUBNETS = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // Teredo and similar, documentation, 6to4: they may contain a private IPv4 address.
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
];

const blocked = new BlockList();
for (const subnet of SUBNETS) {
  const [address = "", bits] = subnet.split("/");
  blocked.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
}
const global = new BlockList();
global.addSubnet("2000::", 3, "ipv6");

/** Whether it is a public address: not private, loopback, link-local, multicast or documentation, and no tunnel to these. */
export function isPublic(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !blocked.check(address, "ipv4");
  // All public IPv6 addresses are in 2000::/3. Addresses mapped or translated from IPv4 are outside it.
  return version === 6 && !address.includes("%") && global.check(address, "ipv6") && !blocked.check(address, "ipv6");
}
