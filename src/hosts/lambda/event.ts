// Owns: the events of API Gateway, function URLs and load balancers, read into one form. Does not own: the request made of it (request.ts).
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { badEvent } from "./refusals.ts";

/** The kinds of event: REST APIs (payload 1.0), HTTP APIs and function URLs (2.0), load balancers. */
export type EventKind = "rest" | "http" | "alb";

/** An event of any kind in one form. Nothing of it is decoded or trusted yet. */
export interface HttpEvent {
  readonly kind: EventKind;
  readonly method: string;
  readonly path: string;
  /** As in the URL, without the question mark. */
  readonly query: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | undefined;
  readonly base64: boolean;
  /** The host name of the request according to the platform; absent for load balancers. */
  readonly domain?: string;
  readonly sourceIp?: string;
  readonly requestId?: string;
  /** The result of the gateway's authorizer; absent if there was none. */
  readonly authorizer?: JsonObject;
  /** Headers of the answer have lists of values: required by load balancers that send such lists. */
  readonly multiValue: boolean;
}

/** The part of the runtime's second argument that is used here. */
export interface LambdaContext {
  readonly awsRequestId?: string;
  getRemainingTimeInMillis?(): number;
}

/** Recognises the kinds by members that only one of them has. Throws `BAD_EVENT`. */
export function readEvent(event: unknown, context: LambdaContext | undefined): HttpEvent {
  if (!isJsonObject(event))
    throw badEvent("The event is no object: send this function what API Gateway, a function URL or a load balancer sends.");
  const about = objectAt(event, "requestContext");
  if (about === undefined) throw badEvent("The event has no requestContext: send this function requests over HTTP only.");
  if (isJsonObject(about["elb"])) return ofLoadBalancer(event, context);
  if (event["version"] === "2.0") return ofHttp(event, about);
  if (typeof event["httpMethod"] === "string") return ofRest(event, about);
  throw badEvent(
    "The event has neither httpMethod nor version 2.0: use a proxy integration of a REST or HTTP API, a function URL or a load balancer.",
  );
}

/**
 * Payload 1.0: https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format
 * Its path has no stage, and the values of its query are decoded. An HTTP API that is configured for this payload has a `version`,
 * and its path begins with the stage.
 */
function ofRest(event: JsonObject, about: JsonObject): HttpEvent {
  const identity = objectAt(about, "identity") ?? {};
  const query = new URLSearchParams();
  for (const [name, value] of pairsAt(event, "queryStringParameters", "multiValueQueryStringParameters")) query.append(name, value);
  return {
    kind: "rest",
    method: needed(event, "httpMethod"),
    path: event["version"] === "1.0" ? withoutStage(needed(event, "path"), about) : needed(event, "path"),
    query: query.toString(),
    headers: pairsAt(event, "headers", "multiValueHeaders"),
    ...bodyOf(event),
    ...known("domain", textAt(about, "domainName")),
    ...known("sourceIp", textAt(identity, "sourceIp")),
    ...known("requestId", textAt(about, "requestId")),
    ...known("authorizer", objectAt(about, "authorizer") ?? iamIn(identity)),
    multiValue: true,
  };
}

/** IAM is no authorizer in payload 1.0: its result is the caller's identity. Here it has the form of payload 2.0. */
function iamIn(identity: JsonObject): JsonObject | undefined {
  const userArn = textAt(identity, "userArn");
  if (userArn === undefined) return undefined;
  const identityId = textAt(identity, "cognitoIdentityId");
  return { iam: { userArn, ...(identityId === undefined ? {} : { cognitoIdentity: { identityId } }) } };
}

/**
 * Payload 2.0: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 * and https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html. Its path begins with the stage, if that has a name.
 */
function ofHttp(event: JsonObject, about: JsonObject): HttpEvent {
  const http = objectAt(about, "http");
  if (http === undefined) throw badEvent("The event has no requestContext.http.");
  const cookies = listAt(event, "cookies");
  return {
    kind: "http",
    method: needed(http, "method"),
    path: withoutStage(needed(event, "rawPath"), about),
    query: textAt(event, "rawQueryString") ?? "",
    headers: [...pairsAt(event, "headers", "multiValueHeaders"), ...(cookies.length > 0 ? [["cookie", cookies.join("; ")] as const] : [])],
    ...bodyOf(event),
    ...known("domain", textAt(about, "domainName")),
    ...known("sourceIp", textAt(http, "sourceIp")),
    ...known("requestId", textAt(about, "requestId")),
    ...known("authorizer", objectAt(about, "authorizer")),
    multiValue: false,
  };
}

/** https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html: the values of its query are not decoded. */
function ofLoadBalancer(event: JsonObject, context: LambdaContext | undefined): HttpEvent {
  const headers = pairsAt(event, "headers", "multiValueHeaders");
  // The last entry is from the load balancer; the client can forge those before it.
  const forwarded = headers
    .findLast(([name]) => name.toLowerCase() === "x-forwarded-for")?.[1]
    .split(",")
    .at(-1)
    ?.trim();
  const query = pairsAt(event, "queryStringParameters", "multiValueQueryStringParameters");
  return {
    kind: "alb",
    method: needed(event, "httpMethod"),
    path: needed(event, "path"),
    query: query.map(([name, value]) => `${name}=${value}`).join("&"),
    headers,
    ...bodyOf(event),
    ...known("sourceIp", forwarded),
    ...known("requestId", context?.awsRequestId),
    multiValue: isJsonObject(event["multiValueHeaders"]),
  };
}

/** The stage without a name, `$default`, is not in paths. */
function withoutStage(path: string, about: JsonObject): string {
  const stage = `/${textAt(about, "stage") ?? "$default"}`;
  return path === stage || path.startsWith(`${stage}/`) ? path.slice(stage.length) || "/" : path;
}

const bodyOf = (event: JsonObject): Pick<HttpEvent, "body" | "base64"> => ({
  body: textAt(event, "body"),
  base64: flagAt(event, "isBase64Encoded"),
});

/** An optional member, absent if the value is undefined. */
function known<K extends string, V>(name: K, value: V | undefined): { readonly [P in K]?: V };
function known(name: string, value: unknown): object {
  return value === undefined ? {} : { [name]: value };
}

// Each throws `BAD_EVENT` with the name of the member, since events are not trusted.

function textAt(bag: JsonObject, name: string): string | undefined {
  const value = bag[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw badEvent(`The event's ${name} is no text.`);
  return value;
}

function needed(bag: JsonObject, name: string): string {
  const value = textAt(bag, name);
  if (value === undefined) throw badEvent(`The event has no ${name}.`);
  return value;
}

function objectAt(bag: JsonObject, name: string): JsonObject | undefined {
  const value = bag[name];
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw badEvent(`The event's ${name} is no object.`);
  return value;
}

function flagAt(bag: JsonObject, name: string): boolean {
  const value = bag[name] ?? false;
  if (typeof value !== "boolean") throw badEvent(`The event's ${name} is neither true nor false.`);
  return value;
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** `multi` has all values of a name, `single` only the last one. If both exist, `multi` is used. */
function pairsAt(bag: JsonObject, single: string, multi: string): Pairs {
  const lists = objectAt(bag, multi);
  if (lists === undefined) return Object.entries(objectAt(bag, single) ?? {}).map(([name, value]) => pair(single, name, value));
  return Object.entries(lists).flatMap(([name, values]) => {
    if (!Array.isArray(values)) throw badEvent(`The event's ${multi} has no list under "${shortened(name)}".`);
    return values.map((value: unknown) => pair(multi, name, value));
  });
}

function listAt(bag: JsonObject, name: string): readonly string[] {
  const value = bag[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw badEvent(`The event's ${name} is no list.`);
  return value.map((entry: unknown) => {
    if (typeof entry !== "string") throw badEvent(`The event's ${name} has an entry that is no text.`);
    return entry;
  });
}

/** A name from outside, shortened for an error message. */
export const shortened = (name: string): string => name.slice(0, 64);

function pair(where: string, name: string, value: unknown): readonly [string, string] {
  if (typeof value !== "string") throw badEvent(`The event's ${where} has no text under "${shortened(name)}".`);
  return [name, value];
}
