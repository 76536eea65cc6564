// Owns: an event as a web request, and its caller. Does not own: reading events (event.ts).
import { type Caller, isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import { type HttpEvent, shortened } from "./event.ts";
import { badEvent, LambdaRefusal } from "./refusals.ts";

/** Headers that concern the connection, or a body in transit; `host` is set from the platform. */
const DROPPED = new Set(["connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"]);
/** Headers that must not be repeated: with two values, two readers could see different requests. */
const ONCE = new Set(["authorization", "content-type", "host", "idempotency-key", "last-event-id", "origin"]);
const HEADERS_MAX = 200;
const HOST = /^[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?(?::\d{1,5})?$/;

export interface RequestRules {
  /** Names that clients may use if the platform does not provide the host name. */
  readonly hosts: readonly string[];
  /** The prefix that a custom domain's mapping adds to the path. */
  readonly basePath: string | undefined;
}

/** The event as a request to `https://<host>`. `whole`: its answer is returned when it is complete. Throws `BAD_EVENT`, `HOST_UNKNOWN`. */
export function requestOf(httpEvent: HttpEvent, rules: RequestRules, whole: boolean, signal: AbortSignal): Request {
  const url = new URL(`https://${hostOf(httpEvent, rules.hosts)}`);
  url.pathname = pathOf(httpEvent.path, rules.basePath);
  url.search = httpEvent.query;
  const { method } = httpEvent;
  if (!/^[A-Z]{3,10}$/.test(method)) throw badEvent("The event's method is none of HTTP's.");
  const headers = headersOf(httpEvent);
  const sent = method === "GET" || method === "HEAD" ? undefined : bytesOf(httpEvent);
  const body = whole && method === "POST" && sent !== undefined ? withoutQuestions(sent) : sent;
  try {
    return new Request(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
  } catch {
    throw badEvent("The event makes no request: its method cannot be handed on.");
  }
}

/*
 * API Gateway and function URLs answer only to their own names, and provide the name: DNS rebinding is not possible. A load balancer
 * passes on what the client wrote.
 */
function hostOf({ domain, headers }: HttpEvent, hosts: readonly string[]): string {
  const host = (domain ?? headers.find(([name]) => name.toLowerCase() === "host")?.[1] ?? "").toLowerCase();
  if (!HOST.test(host)) throw badEvent("The event names no host: it needs requestContext.domainName, or a Host header.");
  if (domain !== undefined || hosts.includes("*") || hosts.some((known) => known.toLowerCase() === host)) return host;
  throw new LambdaRefusal("HOST_UNKNOWN", "This function is not known by that Host: allow the name (hosts) when it is yours.");
}

function pathOf(path: string, basePath: string | undefined): string {
  const rest = basePath !== undefined && (path === basePath || path.startsWith(`${basePath}/`)) ? path.slice(basePath.length) || "/" : path;
  if (!rest.startsWith("/")) throw badEvent("The event's path begins with no slash.");
  // A gateway may have authorized this path, so it must not be normalised into another.
  if (rest.split(/[/\\]|%2f|%5c/i).some((part) => /^(?:\.|%2e){1,2}$/i.test(part)) || rest.includes("\\"))
    throw badEvent("The event's path has a segment that leads elsewhere: send it in its normal form.");
  return rest;
}

function headersOf({ headers: sent }: HttpEvent): Headers {
  if (sent.length > HEADERS_MAX) throw badEvent(`The event has more than ${HEADERS_MAX} headers.`);
  const headers = new Headers();
  const seen = new Set<string>();
  for (const [raw, value] of sent) {
    const name = raw.toLowerCase();
    if (seen.has(name) && (ONCE.has(name) || name.startsWith("mcp-")))
      throw badEvent(`The header ${shortened(name)} was sent twice: send it once.`);
    seen.add(name);
    if (DROPPED.has(name)) continue;
    try {
      headers.append(name, value);
    } catch {
      throw badEvent(`The header "${shortened(name)}" is none that HTTP has, or has a value it cannot have.`);
    }
  }
  return headers;
}

function bytesOf({ body, base64 }: HttpEvent): Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined) return undefined;
  // Node ignores invalid base64: refused, so that all readers see the same body.
  if (base64 && (body.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(body)))
    throw badEvent("The event's body is not the base64 it is said to be.");
  return new Uint8Array(Buffer.from(body, base64 ? "base64" : "utf8"));
}

/** What a server of the revisions with a handshake asks its client on the stream of an answer. */
const QUESTIONS = new Set(["elicitation", "sampling", "roots"]);
const INITIALIZE_MAX = 65_536;

/**
 * A question within an answer arrives with the whole of it, so that nothing would come of a call that waits for the reply. The server
 * learns from initialize that this client takes no questions. Any other body stays as it is.
 */
function withoutQuestions(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (bytes.byteLength > INITIALIZE_MAX) return bytes;
  try {
    const message: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (!isJsonObject(message) || message["method"] !== "initialize" || !isJsonObject(message["params"])) return bytes;
    const { params } = message;
    const { capabilities } = params;
    if (!isJsonObject(capabilities)) return bytes;
    const left = Object.fromEntries(Object.entries(capabilities).filter(([name]) => !QUESTIONS.has(name)));
    return new Uint8Array(Buffer.from(JSON.stringify({ ...message, params: { ...params, capabilities: left } }), "utf8"));
  } catch {
    return bytes;
  }
}

/**
 * The caller according to the gateway's authorizer: a JWT or Cognito authorizer (principal `iss|sub`, scopes of the token), IAM (the
 * caller's ARN, or its identity in a Cognito identity pool; no scopes), a Lambda authorizer (`principalId`, and `scope` if it has one). Undefined if none named a caller.
 */
export function authorizedCaller(authorizer: JsonObject): Caller | undefined {
  const { jwt, claims, iam, lambda } = authorizer;
  if (isJsonObject(jwt) && isJsonObject(jwt["claims"])) return ofClaims(jwt["claims"]);
  if (isJsonObject(claims)) return ofClaims(claims);
  if (isJsonObject(iam)) return ofIam(iam);
  const own = isJsonObject(lambda) ? lambda : authorizer;
  return ofName(own["principalId"], own["scope"]);
}

/** All users of a Cognito identity pool have the role that they assume, and its ARN: there only their identity tells who they are. */
function ofIam({ userArn, cognitoIdentity }: JsonObject): Caller | undefined {
  const id = isJsonObject(cognitoIdentity) ? cognitoIdentity["identityId"] : undefined;
  return ofName(typeof id === "string" && id !== "" ? `cognito-identity.amazonaws.com|${id}` : userArn, undefined);
}

/** Uses the token's scopes, not those the route requires, which the gateway passes next to the claims. */
function ofClaims(claims: JsonObject): Caller | undefined {
  const { iss, sub } = claims;
  if (typeof iss !== "string" || typeof sub !== "string" || iss === "" || sub === "") return undefined;
  return { principal: `${iss}|${sub}`, scopes: scopesOf(claims["scope"] ?? claims["scp"]) };
}

function ofName(name: Json | undefined, granted: Json | undefined): Caller | undefined {
  return typeof name === "string" && name !== "" ? { principal: name, scopes: scopesOf(granted) } : undefined;
}

function scopesOf(granted: Json | undefined): readonly string[] {
  if (Array.isArray(granted)) return granted.filter((scope): scope is string => typeof scope === "string");
  // The gateway turns a list in a claim into a text: `[read write]`.
  const listed = typeof granted === "string" ? (/^\[(.*)\]$/.exec(granted)?.[1] ?? granted) : "";
  return listed.split(" ").filter((scope) => scope !== "");
}
