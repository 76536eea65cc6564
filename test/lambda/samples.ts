// Events as AWS documents them: each sample follows the page named with it, with an MCP call as its body.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type JsonObject, isJsonObject } from "troupe/contract";

export const FOLDER = join(import.meta.dirname, "events");

const REST =
  "https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format";
const HTTP = "https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html";
const URLS = "https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html#urls-request-payload";
const ALB = "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html#receive-event-from-load-balancer";

export const PAGES = {
  "rest.json": REST,
  "rest-cognito.json": "https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-enable-cognito-user-pool.html",
  "rest-authorizer.json": "https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-lambda-authorizer-output.html",
  "http.json": HTTP,
  "http-jwt.json": "https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html",
  "function-url.json": URLS,
  "function-url-iam.json": URLS,
  "alb.json": ALB,
  "alb-multi-value.json": "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html#multi-value-headers",
} as const;

export type Sample = keyof typeof PAGES;

export const SAMPLES: readonly Sample[] = [
  "rest.json",
  "rest-cognito.json",
  "rest-authorizer.json",
  "http.json",
  "http-jwt.json",
  "function-url.json",
  "function-url-iam.json",
  "alb.json",
  "alb-multi-value.json",
];

export function sample(name: Sample): JsonObject {
  const event: unknown = JSON.parse(readFileSync(join(FOLDER, name), "utf8"));
  if (!isJsonObject(event)) throw new Error(`${name} is no object`);
  return event;
}

/** The sample with some members, or members of its requestContext, replaced. */
export function changed(name: Sample, more: JsonObject, about: JsonObject = {}): JsonObject {
  const event = sample(name);
  const context = event["requestContext"];
  return { ...event, requestContext: { ...(isJsonObject(context) ? context : {}), ...about }, ...more };
}
