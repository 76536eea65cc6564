// Events of every kind as requests, and responses as answers, each as AWS documents them.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { authorizedCaller, bufferedHandler, type LambdaAnswer, type LambdaOptions, type LambdaSource, sourceOf } from "troupe/lambda";
import { changed, FOLDER, PAGES, sample, SAMPLES } from "./samples.ts";

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
const hosts = ["tools.example"];
const context = { awsRequestId: "id-of-alb" };

interface Seen {
  readonly request: Request;
  readonly body: string;
  readonly source: LambdaSource | undefined;
}

/** The request that a server receives for an event, and the answer. */
const requested = async (
  event: unknown,
  options: LambdaOptions = { hosts },
  response = () => new Response("ok"),
): Promise<[Seen | undefined, LambdaAnswer]> => {
  let seen: Seen | undefined;
  const handler = bufferedHandler(async (request) => {
    seen = { request, body: await request.text(), source: sourceOf(request) };
    return response();
  }, options);
  const answer = await handler(event, context);
  return [seen, answer];
};

const seenIn = async (event: unknown, options?: LambdaOptions): Promise<Seen> => {
  const [seen, answer] = await requested(event, options);
  assert.ok(seen !== undefined, answer.body);
  return seen;
};

const answered = async (event: unknown, response: () => Response): Promise<LambdaAnswer> =>
  (await requested(event, { hosts }, response))[1];

test("each sample follows a page of AWS's documentation", () => {
  assert.deepEqual(readdirSync(FOLDER).toSorted(), Object.keys(PAGES).toSorted());
  assert.deepEqual(SAMPLES.toSorted(), Object.keys(PAGES).toSorted());
  for (const page of Object.values(PAGES)) assert.match(page, /^https:\/\/docs\.aws\.amazon\.com\//);
});

describe("an event as a request", () => {
  for (const name of SAMPLES)
    test(`${name}: verb, host, path without stage, query, headers, body`, async () => {
      const { request, body, source } = await seenIn(sample(name));
      const url = new URL(request.url);
      assert.equal(request.method, "POST");
      assert.match(url.host, /^(?:\w+\.(?:execute-api|lambda-url)\.eu-central-1\.(?:amazonaws\.com|on\.aws)|tools\.example)$/);
      assert.equal(url.pathname, "/mcp");
      // A load balancer without multi-value headers sends one value per name.
      assert.deepEqual(url.searchParams.getAll("a"), name === "alb.json" ? ["2"] : ["1", "2"]);
      assert.equal(url.searchParams.get("b"), "x y&z");
      assert.equal(request.headers.get("x-tag")?.replaceAll(" ", ""), name === "alb.json" ? "two" : "one,two");
      assert.equal(request.headers.get("content-type"), "application/json");
      assert.deepEqual(JSON.parse(body), PING);
      assert.match(source?.sourceIp ?? "", /^192\.0\.2\.[1-4]$/);
      assert.match(source?.requestId ?? "", /^id-of-/);
      assert.deepEqual(source?.event, sample(name));
    });

  test("cookies of payload 2.0 are one header", async () => {
    const { request } = await seenIn(sample("http.json"));
    assert.equal(request.headers.get("cookie"), "cookie1=one; cookie2=two");
  });

  test("the prefix of a mapping or stage is removed from the path, and nothing else", async () => {
    const pathOf = async (...given: Parameters<typeof seenIn>) => new URL((await seenIn(...given)).request.url).pathname;
    assert.equal(await pathOf(changed("rest.json", { path: "/tools/mcp" }), { basePath: "/tools" }), "/mcp");
    assert.equal(await pathOf(changed("rest.json", { path: "/toolshed/mcp" }), { basePath: "/tools" }), "/toolshed/mcp");
    // In a REST API a path that begins with the stage's name is a resource of that name.
    assert.equal(await pathOf(changed("rest.json", { path: "/prod/mcp" })), "/prod/mcp");
    assert.equal(await pathOf(changed("rest.json", { version: "1.0", path: "/prod/mcp" })), "/mcp");
    assert.equal(await pathOf(changed("http.json", { rawPath: "/prod" })), "/");
    assert.equal(await pathOf(changed("http.json", { rawPath: "/production/mcp" })), "/production/mcp");
    assert.equal(await pathOf(changed("http.json", { rawPath: "/prod/a b?c#d" })), "/a%20b%3Fc%23d");
    assert.throws(() => bufferedHandler(() => new Response(), { basePath: "tools/" }), { code: "BAD_OPTION" });
  });

  test("a body may be missing, or binary", async () => {
    assert.equal((await seenIn(changed("rest.json", { body: null }))).body, "");
    assert.equal((await seenIn(changed("rest.json", { body: "4pyT", isBase64Encoded: true }))).body, "✓");
    const { request, body } = await seenIn(changed("rest.json", { httpMethod: "GET", multiValueHeaders: null, headers: null }));
    assert.deepEqual([request.method, body, Array.from(request.headers)], ["GET", "", []]);
  });

  test("the host is from the platform; behind a load balancer it must be an allowed one", async () => {
    const forged = changed("http.json", { headers: { host: "evil.example" } });
    assert.equal(new URL((await seenIn(forged)).request.url).host, "fghij67890.execute-api.eu-central-1.amazonaws.com");
    const [seen, refused] = await requested(sample("alb.json"), {});
    assert.deepEqual([seen, refused.statusCode, JSON.parse(refused.body).error], [undefined, 403, "HOST_UNKNOWN"]);
    assert.equal((await requested(sample("alb.json"), { hosts: ["*"] }))[1].statusCode, 200);
  });
});

describe("invalid events", () => {
  const http = { method: "POST", path: "/mcp" };
  const wrong: Readonly<Record<string, readonly [unknown, RegExp]>> = {
    "no object": ["event", /is no object/],
    nothing: [undefined, /is no object/],
    "no request": [{ Records: [] }, /no requestContext/],
    "a WebSocket's": [{ requestContext: { connectionId: "c", eventType: "MESSAGE" }, body: "{}" }, /neither httpMethod nor version 2\.0/],
    "without http": [changed("http.json", {}, { http: null }), /no requestContext\.http/],
    "without a method": [changed("http.json", {}, { http: { ...http, method: "" } }), /no method/],
    "a method HTTP has not": [changed("http.json", {}, { http: { ...http, method: "po st" } }), /method/],
    "a method that is not handed on": [changed("http.json", {}, { http: { ...http, method: "CONNECT" } }), /method/],
    "without a path": [changed("rest.json", { path: null }), /no path/],
    "a path that is a number": [changed("rest.json", { path: 7 }), /path is no text/],
    "a path without a slash": [changed("rest.json", { path: "mcp" }), /no slash/],
    "a path that climbs": [changed("rest.json", { path: "/open/../mcp" }), /leads elsewhere/],
    "a path that climbs, encoded": [changed("rest.json", { path: "/open/%2E%2e/mcp" }), /leads elsewhere/],
    "a path that climbs, encoded whole": [changed("rest.json", { path: "/open%2f..%2Fmcp" }), /leads elsewhere/],
    "a path with backslashes": [changed("rest.json", { path: "/open\\mcp" }), /leads elsewhere/],
    "headers that are a list": [changed("http.json", { headers: [] }), /headers is no object/],
    "a header that is a number": [changed("http.json", { headers: { a: 1 } }), /no text under "a"/],
    "values that are no list": [changed("rest.json", { multiValueHeaders: { a: "1" } }), /no list under "a"/],
    "a header's name that is none": [changed("http.json", { headers: { "a b": "1" } }), /"a b" is none/],
    "a header's value that splits": [changed("http.json", { headers: { a: "1\r\nb: 2" } }), /"a" is none/],
    "too many headers": [
      changed("http.json", { headers: Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`a${n}`, ""])) }),
      /more than 200/,
    ],
    "a deciding header twice": [
      changed("rest.json", { multiValueHeaders: { "Mcp-Session-Id": ["a", "b"] } }),
      /mcp-session-id was sent twice/,
    ],
    "a deciding header in two spellings": [changed("http.json", { headers: { Origin: "a", origin: "b" } }), /origin was sent twice/],
    "cookies that are no list": [changed("http.json", { cookies: "a" }), /cookies is no list/],
    "a cookie that is none": [changed("http.json", { cookies: [1] }), /cookies has an entry/],
    "a body that is an object": [changed("http.json", { body: {} }), /body is no text/],
    "a body that is no base64": [changed("http.json", { body: "a?b=", isBase64Encoded: true }), /base64/],
    "an invalid isBase64Encoded": [changed("http.json", { isBase64Encoded: "yes" }), /isBase64Encoded/],
    "no host at all": [changed("http.json", { headers: {} }, { domainName: null }), /names no host/],
    "a host that is none": [changed("http.json", {}, { domainName: "a/b" }), /names no host/],
  };
  for (const [what, [event, why]] of Object.entries(wrong))
    test(`${what}: 400, and why`, async () => {
      const [seen, answer] = await requested(event);
      assert.equal(seen, undefined);
      assert.equal(answer.statusCode, 400, answer.body);
      const report = JSON.parse(answer.body);
      assert.equal(report.error, "BAD_EVENT");
      assert.match(report.message, why);
    });
});

describe("a response as an answer", () => {
  const several = (): Response => {
    const headers = new Headers({ "content-type": "application/json", "content-length": "2", "x-a": "1" });
    headers.append("set-cookie", "a=1; Path=/");
    headers.append("set-cookie", "b=2, still");
    return new Response("{}", { status: 201, statusText: "Created", headers });
  };
  const cookies = ["a=1; Path=/", "b=2, still"];
  const headers = { "content-type": "application/json", "x-a": "1" };
  const common = { statusCode: 201, body: "{}", isBase64Encoded: false };

  test("cookies are where each kind expects them, and lengths are omitted", async () => {
    assert.deepEqual(await answered(sample("rest.json"), several), { ...common, headers, multiValueHeaders: { "set-cookie": cookies } });
    assert.deepEqual(await answered(sample("http.json"), several), { ...common, headers, cookies });
    assert.deepEqual(await answered(sample("function-url.json"), several), { ...common, headers, cookies });
    const balanced = { ...common, statusDescription: "201 Created" };
    assert.deepEqual(await answered(sample("alb.json"), several), { ...balanced, headers: { ...headers, "set-cookie": "b=2, still" } });
    const lists = { "content-type": ["application/json"], "x-a": ["1"], "set-cookie": cookies };
    assert.deepEqual(await answered(sample("alb-multi-value.json"), several), { ...balanced, multiValueHeaders: lists });
  });

  test("binary bodies are base64, text is text", async () => {
    const bodyOf = async (body: string | Uint8Array<ArrayBuffer> | null, type: string, more: Record<string, string> = {}) => {
      const answer = await answered(sample("http.json"), () => new Response(body, { headers: { "content-type": type, ...more } }));
      return [answer.body, answer.isBase64Encoded];
    };
    assert.deepEqual(await bodyOf(Uint8Array.of(0x89, 0x50), "image/png"), ["iVA=", true]);
    assert.deepEqual(await bodyOf("✓", "application/problem+json; charset=utf-8"), ["✓", false]);
    assert.deepEqual(await bodyOf("\uFEFF✓", "text/plain"), ["\uFEFF✓", false]);
    // Declared as text, but not valid UTF-8.
    assert.deepEqual(await bodyOf(Uint8Array.of(0xff), "text/plain"), ["/w==", true]);
    assert.deepEqual(await bodyOf("{}", "application/json", { "content-encoding": "br" }), ["e30=", true]);
    assert.deepEqual(await bodyOf(null, "application/json"), ["", false]);
  });

  test("HEAD and 204 have no body", async () => {
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream({ cancel: () => cancelled.resolve() });
    const head = await answered(changed("rest.json", { httpMethod: "HEAD", body: null }), () => new Response(body));
    assert.deepEqual([head.statusCode, head.body, head.isBase64Encoded], [200, "", false]);
    await cancelled.promise;
    const none = await answered(sample("rest.json"), () => new Response(null, { status: 204 }));
    assert.deepEqual([none.statusCode, none.body], [204, ""]);
  });

  test("a JSON answer over Lambda's limit is an error that advises to stream", async () => {
    const text =
      (size: number, letter = "a") =>
      () =>
        new Response(letter.repeat(size), { headers: { "content-type": "text/plain" } });
    const status = async (name: "rest.json" | "alb.json", response: () => Response) => (await answered(sample(name), response)).statusCode;
    assert.equal(await status("rest.json", text(6_000_000)), 200);
    assert.equal(await status("rest.json", text(6_291_457)), 500);
    assert.equal(await status("rest.json", text(1_500_000, "\u0001")), 500);
    assert.equal(await status("alb.json", text(1_000_000)), 200);
    assert.equal(await status("alb.json", text(1_048_577)), 500);
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1_048_576)) });
    const refused = await answered(sample("rest.json"), () => new Response(endless));
    assert.match(refused.body, /ANSWER_TOO_LARGE.*streamingHandler/);
  });

  test("an error of the server is logged by name, and not sent to the client", async () => {
    const logged: unknown[] = [];
    const handler = bufferedHandler(() => Promise.reject(new TypeError("secret")), { log: (...line) => logged.push(line) });
    const answer = await handler(sample("http.json"));
    assert.deepEqual([answer.statusCode, JSON.parse(answer.body).error], [500, "FUNCTION_FAILED"]);
    assert.doesNotMatch(answer.body, /secret/);
    assert.deepEqual(logged, [["error", { event: "function-failed", name: "TypeError", requestId: "id-of-http" }]]);
  });
});

test("the caller is read from each kind of authorizer", () => {
  const callerIn = (name: Parameters<typeof sample>[0]) => {
    const event = JSON.parse(JSON.stringify(sample(name)));
    return authorizedCaller(event.requestContext.authorizer ?? {});
  };
  const cognito = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Example|a1b2";
  assert.deepEqual(callerIn("rest-cognito.json"), { principal: cognito, scopes: ["notes/read", "notes/write"] });
  assert.deepEqual(callerIn("rest-authorizer.json"), { principal: "ana", scopes: ["read"] });
  assert.deepEqual(callerIn("http-jwt.json"), { principal: "https://login.example|ana", scopes: ["read", "write"] });
  assert.deepEqual(callerIn("function-url-iam.json"), { principal: "arn:aws:iam::111122223333:user/example-user", scopes: [] });
  // Users of an identity pool share the ARN of the role they assume.
  const userArn = "arn:aws:sts::111122223333:assumed-role/Users/CognitoIdentityCredentials";
  const pooled = (identityId: string) => authorizedCaller({ iam: { userArn, cognitoIdentity: { identityId, amr: ["authenticated"] } } });
  assert.deepEqual(pooled("eu-central-1:a"), { principal: "cognito-identity.amazonaws.com|eu-central-1:a", scopes: [] });
  assert.notDeepEqual(pooled("eu-central-1:b"), pooled("eu-central-1:a"));
  // The route's required scopes are not granted ones.
  const scoped = { jwt: { claims: { iss: "i", sub: "s", scp: "[read write]" }, scopes: ["admin"] } };
  assert.deepEqual(authorizedCaller(scoped), { principal: "i|s", scopes: ["read", "write"] });
  // A bracket inside a scope is part of it.
  assert.deepEqual(authorizedCaller({ claims: { iss: "i", sub: "s", scope: "read[admin] x[" } })?.scopes, ["read[admin]", "x["]);
  assert.deepEqual(authorizedCaller({ claims: { iss: "i", sub: "s" }, scopes: ["admin"] }), { principal: "i|s", scopes: [] });
  assert.deepEqual(authorizedCaller({ lambda: { principalId: "bo", scope: ["a", 1] } }), { principal: "bo", scopes: ["a"] });
  for (const anonymous of [{}, { jwt: { claims: { sub: "a" } } }, { claims: { iss: "", sub: "a" } }, { principalId: 7 }, { iam: {} }])
    assert.equal(authorizedCaller(anonymous), undefined);
});

test("the caller of a REST API with IAM is read from its identity", async () => {
  const callerOf = async (identity: object) => {
    const { source } = await seenIn(changed("rest.json", {}, { identity: JSON.parse(JSON.stringify(identity)) }));
    return source?.authorizer === undefined ? undefined : authorizedCaller(source.authorizer);
  };
  const userArn = "arn:aws:iam::111122223333:user/example-user";
  assert.deepEqual(await callerOf({ userArn, cognitoIdentityId: null }), { principal: userArn, scopes: [] });
  const pooled = { principal: "cognito-identity.amazonaws.com|eu-central-1:a", scopes: [] };
  assert.deepEqual(await callerOf({ userArn, cognitoIdentityId: "eu-central-1:a" }), pooled);
  assert.equal(await callerOf({ userArn: null }), undefined);
});
