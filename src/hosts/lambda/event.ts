import { type Bag, isBag } from "../../core/contract/index.ts";
import type { Arrived, LambdaContext } from "./arrived.ts";
import { bagAt, flagAt, listAt, needed, pairsAt, textAt } from "./read.ts";
import { badEvent } from "./refusal.ts";

/** Tells the kinds apart as the platform does: by what only one of them has. Throws `BAD_EVENT`. */
export function readEvent(event: unknown, context: LambdaContext | undefined): Arrived {
  if (!isBag(event))
    throw badEvent("The event is no object: send this function what API Gateway, a function URL or a load balancer sends.");
  const about = bagAt(event, "requestContext");
  if (about === undefined) throw badEvent("The event has no requestContext: send this function requests over HTTP only.");
  if (isBag(about["elb"])) return ofLoadBalancer(event, context);
  if (event["version"] === "2.0") return ofHttp(event, about);
  if (typeof event["httpMethod"] === "string") return ofRest(event, about);
  throw badEvent(
    "The event has neither httpMethod nor version 2.0: use a proxy integration of a REST or HTTP API, a function URL or a load balancer.",
  );
}

/**
 * Payload 1.0: https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format
 * Its path has no stage, and the values of its query are decoded. An HTTP API that is told to send this payload says so
 * (`version`), and its path begins with the stage.
 */
function ofRest(event: Bag, about: Bag): Arrived {
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
    ...known("sourceIp", textAt(bagAt(about, "identity") ?? {}, "sourceIp")),
    ...known("requestId", textAt(about, "requestId")),
    ...known("authorizer", bagAt(about, "authorizer")),
    multiValue: true,
  };
}

/**
 * Payload 2.0: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 * and https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html. Its path begins with the stage, where that has a name.
 */
function ofHttp(event: Bag, about: Bag): Arrived {
  const http = bagAt(about, "http");
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
    ...known("authorizer", bagAt(about, "authorizer")),
    multiValue: false,
  };
}

/** https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html: the values of its query are as they came. */
function ofLoadBalancer(event: Bag, context: LambdaContext | undefined): Arrived {
  const headers = pairsAt(event, "headers", "multiValueHeaders");
  // What the balancer saw itself is the last entry; those before are the client's word.
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
    multiValue: isBag(event["multiValueHeaders"]),
  };
}

/** A stage without a name, `$default`, is in no path. */
function withoutStage(path: string, about: Bag): string {
  const stage = `/${textAt(about, "stage") ?? "$default"}`;
  return path === stage || path.startsWith(`${stage}/`) ? path.slice(stage.length) || "/" : path;
}

const bodyOf = (event: Bag): Pick<Arrived, "body" | "base64"> => ({
  body: textAt(event, "body"),
  base64: flagAt(event, "isBase64Encoded"),
});

/** An optional member, absent where there is nothing. */
function known<K extends string, V>(name: K, value: V | undefined): { readonly [P in K]?: V };
function known(name: string, value: unknown): object {
  return value === undefined ? {} : { [name]: value };
}
