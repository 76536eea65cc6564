// Documents of MCP Apps: their addresses, their content security policy, and how many are stored.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isList } from "../../core/contract/index.ts";
import { consoleFor } from "./console.ts";
import { appPolicy, documentsOf } from "./app-documents.ts";
import type { ConsoleData } from "./data.ts";

const data = (): ConsoleData => ({
  about: { name: "test", version: "1", engine: "memory", development: true, docs: "docs" },
  reader: {
    list: async () => [],
    events: async () => [],
    event: async () => undefined,
    caused: async () => [],
    state: async () => undefined,
  },
  now: () => 0,
});

const directives = (policy: string): ReadonlyMap<string, string> =>
  new Map(policy.split("; ").map((directive) => [directive.split(" ")[0] ?? "", directive]));

describe("the policy of an app", () => {
  test("without domains reaches nothing, and runs its own scripts in an origin of its own", () => {
    const { policy, ignored } = appPolicy({});
    assert.deepEqual(ignored, []);
    assert.equal(
      policy,
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; media-src data: blob:; font-src data:; connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-forms",
    );
  });

  test("has the declared domains, each where it belongs", () => {
    const found = directives(
      appPolicy({
        connectDomains: ["https://api.example.com", "wss://live.example.com:8443/"],
        resourceDomains: ["https://*.cdn.example.com", "localhost:3000"],
        frameDomains: ["https://video.example.com"],
        baseUriDomains: ["https://cdn.example.com"],
      }).policy,
    );
    assert.equal(found.get("connect-src"), "connect-src https://api.example.com wss://live.example.com:8443");
    assert.equal(found.get("script-src"), "script-src 'unsafe-inline' https://*.cdn.example.com localhost:3000");
    assert.equal(found.get("frame-src"), "frame-src https://video.example.com");
    assert.equal(found.get("base-uri"), "base-uri https://cdn.example.com");
  });

  test("leaves out what is no domain, and says so", () => {
    const wrong = [
      "*",
      "https:",
      "data:",
      "'self'",
      "'unsafe-eval'",
      "https://a; script-src *",
      "https://a b",
      "https://a,b",
      "//a",
      "",
      3,
    ];
    const { policy, ignored } = appPolicy({ connectDomains: [...wrong, "https://a.example\n"], resourceDomains: "https://b.example" });
    assert.equal(policy, appPolicy({}).policy);
    assert.equal(ignored.length, wrong.length + 1);
    const many = appPolicy({ connectDomains: Array.from({ length: 5_000 }, (_, n) => `https://a${n}.example`) });
    assert.ok(many.policy.length < 2_000 && many.ignored.length <= 32);
  });
});

describe("the document of an app", () => {
  test("has its own policy, may be framed, and reports what is blocked before its scripts run", () => {
    const own = data();
    const { id, policy } = documentsOf(own).add("\n<!DOCTYPE html><html><script>1</script>", {});
    const { status, headers = {}, body } = documentsOf(own).answer(id, { "x-common": "1" });
    assert.deepEqual(
      [status, headers["content-security-policy"], headers["x-common"], headers["x-frame-options"]],
      [200, policy, "1", undefined],
    );
    assert.match(text(body), /^\n<!DOCTYPE html><script>\{[\s\S]*securitypolicyviolation[\s\S]*<\/script><html><script>1/);
  });

  test("is found only by those who were given its address, which other consoles do not have", () => {
    const [one, other] = [data(), data()];
    const { id } = documentsOf(one).add("<p>", {});
    assert.equal(documentsOf(one).add("<p>", {}).id, id);
    assert.notEqual(documentsOf(one).add("<p>", { connectDomains: ["https://a.example"] }).id, id);
    assert.notEqual(documentsOf(other).add("<p>", {}).id, id);
    const missing = documentsOf(other).answer(id, {});
    assert.equal(missing.status, 404);
    assert.match(missing.headers?.["content-security-policy"] ?? "", /sandbox/);
  });

  test("the oldest are dropped", () => {
    const documents = documentsOf(data());
    const ids = Array.from({ length: 70 }, (_, n) => documents.add(`<p>${n}`, {}).id);
    const stored = ids.filter((id) => documents.answer(id, {}).status === 200);
    assert.deepEqual(stored, ids.slice(-64));
    const large = Array.from({ length: 6 }, (_, n) => documents.add("x".repeat(4_000_000) + n, {}).id);
    assert.deepEqual(
      large.map((id) => documents.answer(id, {}).status),
      [404, 404, 200, 200, 200, 200],
    );
  });

  test("is served next to the page, and without the page there is none", () => {
    const assets = { find: () => undefined };
    assert.deepEqual(
      consoleFor({ ...data(), assets }).map(({ path }) => path),
      ["/console/api", "/console/app", "/console"],
    );
    assert.deepEqual(
      consoleFor(data()).map(({ path }) => path),
      ["/console/api"],
    );
  });
});

const text = (body: string | Uint8Array | readonly (string | Uint8Array)[] | undefined): string =>
  body instanceof Uint8Array ? new TextDecoder().decode(body) : isList(body) ? "" : String(body);
