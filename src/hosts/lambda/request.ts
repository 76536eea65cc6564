import type { Arrived } from "./arrived.ts";
import { shown } from "./read.ts";
import { badEvent, LambdaRefusal } from "./refusal.ts";

/** Of the connection, or of a body that is whole already; `host` is not the client's to say. */
const DROPPED = new Set(["connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);
/** Headers that decide something: whoever sends one twice wants two readers to see two requests. */
const ONCE = new Set(["authorization", "content-type", "host", "idempotency-key", "last-event-id", "origin"]);
const HEADERS_MAX = 200;
const HOST = /^[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?(?::\d{1,5})?$/;

export interface RequestRules {
  /** Names clients may use where the platform does not say which it was. */
  readonly hosts: readonly string[];
  /** What a custom domain's mapping puts before the path. */
  readonly basePath: string | undefined;
}

/** The event as a request to `https://<host>`. Throws `BAD_EVENT`, `HOST_UNKNOWN`. */
export function requestOf(arrived: Arrived, rules: RequestRules, signal: AbortSignal): Request {
  const url = new URL(`https://${hostOf(arrived, rules.hosts)}`);
  url.pathname = pathOf(arrived.path, rules.basePath);
  url.search = arrived.query;
  const { method } = arrived;
  if (!/^[A-Z]{3,10}$/.test(method)) throw badEvent("The event's method is none of HTTP's.");
  const headers = headersOf(arrived);
  const body = method === "GET" || method === "HEAD" ? undefined : bytesOf(arrived);
  try {
    return new Request(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
  } catch {
    throw badEvent("The event makes no request: its method cannot be handed on.");
  }
}

/*
 * API Gateway and function URLs answer to their own names only, and say which one it was: no page gets here by a name of its
 * own (DNS rebinding). A load balancer passes on whatever the client wrote.
 */
function hostOf({ domain, headers }: Arrived, hosts: readonly string[]): string {
  const told = (domain ?? headers.find(([name]) => name.toLowerCase() === "host")?.[1] ?? "").toLowerCase();
  if (!HOST.test(told)) throw badEvent("The event names no host: it needs requestContext.domainName, or a Host header.");
  if (domain !== undefined || hosts.includes("*") || hosts.some((host) => host.toLowerCase() === told)) return told;
  throw new LambdaRefusal("HOST_UNKNOWN", "This function is not known by that Host: allow the name (hosts) when it is yours.");
}

function pathOf(path: string, basePath: string | undefined): string {
  const rest = basePath !== undefined && (path === basePath || path.startsWith(`${basePath}/`)) ? path.slice(basePath.length) || "/" : path;
  if (!rest.startsWith("/")) throw badEvent("The event's path begins with no slash.");
  // A gateway that authorizes by path has looked at this one: it must not become another.
  if (rest.split(/[/\\]|%2f|%5c/i).some((part) => /^(?:\.|%2e){1,2}$/i.test(part)) || rest.includes("\\"))
    throw badEvent("The event's path has a segment that leads elsewhere: send it in its normal form.");
  return rest;
}

function headersOf({ headers: told }: Arrived): Headers {
  if (told.length > HEADERS_MAX) throw badEvent(`The event has more than ${HEADERS_MAX} headers.`);
  const headers = new Headers();
  const seen = new Set<string>();
  for (const [raw, value] of told) {
    const name = raw.toLowerCase();
    if (seen.has(name) && (ONCE.has(name) || name.startsWith("mcp-")))
      throw badEvent(`The header ${shown(name)} was sent twice: send it once.`);
    seen.add(name);
    if (DROPPED.has(name)) continue;
    try {
      headers.append(name, value);
    } catch {
      throw badEvent(`The header "${shown(name)}" is none that HTTP has, or has a value it cannot have.`);
    }
  }
  return headers;
}

function bytesOf({ body, base64 }: Arrived): Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined) return undefined;
  // Node leaves out what is no base64: what a request says must not depend on who reads it.
  if (base64 && (body.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(body)))
    throw badEvent("The event's body is not the base64 it is said to be.");
  return new Uint8Array(Buffer.from(body, base64 ? "base64" : "utf8"));
}
