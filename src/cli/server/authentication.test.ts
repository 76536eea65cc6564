import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { keysIn, ViewerTokens, viewerTokens } from "./authentication.ts";

const sha256 = "a".repeat(64);

test("a key's end is told as a day, a time or milliseconds, and kept", () => {
  const ends = (expiresAt: Json): number | undefined => keysIn({ ann: { sha256, expiresAt } }, "keys.json")[0]?.expiresAt;
  assert.equal(ends("2027-01-31"), Date.UTC(2027, 0, 31));
  assert.equal(ends("2027-01-31T12:30Z"), Date.UTC(2027, 0, 31, 12, 30));
  assert.equal(ends(1_800_000_000_000), 1_800_000_000_000);
  assert.deepEqual(keysIn({ ann: sha256, ci: { sha256, scopes: ["deploy"] } }, "keys.json"), [
    { name: "ann", sha256, scopes: [] },
    { name: "ci", sha256, scopes: ["deploy"] },
  ]);
});

test("a key has the claims that the file gives it", () => {
  const claims = { roles: ["responder"], tenant: "acme" };
  assert.deepEqual(keysIn({ ci: { sha256, claims } }, "keys.json"), [{ name: "ci", sha256, scopes: [], claims }]);
});

test("a key's hash is taken in upper case, as Windows tools write it", () => {
  const upper = "AB".repeat(32);
  assert.deepEqual(keysIn({ ann: upper }, "keys.json"), [{ name: "ann", sha256: upper, scopes: [] }]);
});

test("what would leave a key with more than was meant is refused, naming the key and what is wrong", () => {
  for (const [value, sentence] of [
    [{ sha256, expires: "2027-01-31" }, /"ci" has "expires", which nobody reads: it may have sha256, scopes, claims, expiresAt/],
    [{ sha256, scope: ["deploy"] }, /"ci" has "scope"/],
    [{ sha256, expiresAt: "soon" }, /"expiresAt" of "ci" must be a time/],
    [{ sha256, expiresAt: "2027-13-45" }, /"expiresAt" of "ci" must be a time/],
    [{ sha256, expiresAt: null }, /"expiresAt" of "ci" must be a time/],
    [{ sha256, scopes: ["deploy", 1] }, /scopes of "ci" must be a list of texts/],
    [{ sha256, scopes: "deploy" }, /scopes of "ci" must be a list of texts/],
    [{ sha256, claims: ["responder"] }, /claims of "ci" must be an object, such as/],
    [{ scopes: [] }, /"ci" needs its SHA-256/],
    [null, /"ci" needs its SHA-256/],
  ] as const)
    assert.throws(() => keysIn({ ci: value }, "keys.json"), sentence);
  assert.throws(() => keysIn([], "keys.json"), /must be an object of name/);
});

const ann = { principal: "ann", scopes: ["read", "write"], claims: { role: "ärztin" } };

test("a viewer's token is that viewer for an hour, in the process that made it", async () => {
  const clock = new SimulatedClock();
  const tokens = new ViewerTokens(clock);
  const auth = tokens.before(undefined);
  const { token, expiresAt } = tokens.issue(ann);
  const check = async (text: string, by = auth) => await by.check(`Bearer ${text}`, "");
  assert.equal(expiresAt, clock.now() + 3_600_000);
  assert.deepEqual(await check(token), { caller: ann, expiresAt });
  assert.deepEqual(await check(tokens.issue({ scopes: [] }).token), { caller: { scopes: [] }, expiresAt });
  assert.match(JSON.stringify(await check(token, new ViewerTokens(clock).before(undefined))), /"invalid".*has restarted/);
  const [name, body = "", signature = ""] = token.split(".");
  const forged = Buffer.from(JSON.stringify({ expiresAt, scopes: ["admin"], principal: "root" })).toString("base64url");
  for (const wrong of [`${name}.${forged}.${signature}`, `${name}.${body}.${"A".repeat(43)}`])
    assert.match(JSON.stringify(await check(wrong)), /"refused":"invalid"/, wrong);
  await clock.advance(3_600_000);
  assert.match(JSON.stringify(await check(token)), /"invalid".*expired/);
});

test("callers with another token, or none, are left to the server's own authentication", async () => {
  const asBo = {
    scopes: ["all"],
    issuers: [],
    needsResource: false,
    check: () => ({ caller: { principal: "bo", scopes: [] } }),
    metadata: () => ({}),
  };
  const tokens = new ViewerTokens();
  for (const given of [undefined, "Bearer other", "Bearer troupe-viewer.x", "Basic troupe-viewer.a.b"]) {
    assert.deepEqual(await tokens.before(asBo).check(given, ""), asBo.check());
    assert.deepEqual(await tokens.before(undefined).check(given, ""), { caller: { scopes: [] } });
  }
  assert.deepEqual(tokens.before(asBo).scopes, ["all"]);
});

test("there are none where others than this machine reach the server", () => {
  const at = (host: string) => viewerTokens({ host, port: 0 });
  assert.deepEqual(
    ["127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.4", "::"].map((host) => at(host) !== undefined),
    [true, true, true, false, false, false],
  );
  assert.equal(viewerTokens(undefined), undefined);
});
