import assert from "node:assert/strict";
import { test } from "node:test";
import type { Json } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { parseApiKeys, ViewerTokens, viewerTokens } from "./authentication.ts";

const sha256 = "a".repeat(64);

test("the expiry of a key is a day, a time or milliseconds", () => {
  const ends = (expiresAt: Json): number | undefined => parseApiKeys({ ann: { sha256, expiresAt } }, "keys.json")[0]?.expiresAt;
  assert.equal(ends("2027-01-31"), Date.UTC(2027, 0, 31));
  assert.equal(ends("2027-01-31T12:30Z"), Date.UTC(2027, 0, 31, 12, 30));
  assert.equal(ends(1_800_000_000_000), 1_800_000_000_000);
  assert.deepEqual(parseApiKeys({ ann: sha256, ci: { sha256, scopes: ["deploy"] } }, "keys.json"), [
    { name: "ann", sha256, scopes: [] },
    { name: "ci", sha256, scopes: ["deploy"] },
  ]);
});

test("a key has the claims from the file", () => {
  const claims = { roles: ["responder"], tenant: "acme" };
  assert.deepEqual(parseApiKeys({ ci: { sha256, claims } }, "keys.json"), [{ name: "ci", sha256, scopes: [], claims }]);
});

test("the hash of a key may be in upper case, as Windows tools write it", () => {
  const upper = "AB".repeat(32);
  assert.deepEqual(parseApiKeys({ ann: upper }, "keys.json"), [{ name: "ann", sha256: upper, scopes: [] }]);
});

test("an invalid key is refused with its name and the reason", () => {
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
    assert.throws(() => parseApiKeys({ ci: value }, "keys.json"), sentence);
  assert.throws(() => parseApiKeys([], "keys.json"), /must be an object of name/);
});

const ann = { principal: "ann", scopes: ["read", "write"], claims: { role: "ärztin" } };

test("a viewer's token is valid for an hour, in the process that issued it", async () => {
  const clock = new SimulatedClock();
  const tokens = new ViewerTokens(clock);
  const auth = tokens.wrap(undefined);
  const { token, expiresAt } = tokens.issue(ann);
  const check = async (text: string, by = auth) => await by.check(`Bearer ${text}`, "");
  assert.equal(expiresAt, clock.now() + 3_600_000);
  assert.deepEqual(await check(token), { caller: ann, expiresAt });
  assert.deepEqual(await check(tokens.issue({ scopes: [] }).token), { caller: { scopes: [] }, expiresAt });
  assert.match(JSON.stringify(await check(token, new ViewerTokens(clock).wrap(undefined))), /"invalid".*has restarted/);
  const [name, body = "", signature = ""] = token.split(".");
  const forged = Buffer.from(JSON.stringify({ expiresAt, scopes: ["admin"], principal: "root" })).toString("base64url");
  for (const wrong of [`${name}.${forged}.${signature}`, `${name}.${body}.${"A".repeat(43)}`])
    assert.match(JSON.stringify(await check(wrong)), /"refused":"invalid"/, wrong);
  await clock.advance(3_600_000);
  assert.match(JSON.stringify(await check(token)), /"invalid".*expired/);
});

test("callers without a viewer's token are left to the server's authentication", async () => {
  const asBo = {
    scopes: ["all"],
    issuers: [],
    needsResource: false,
    check: () => ({ caller: { principal: "bo", scopes: [] } }),
    metadata: () => ({}),
  };
  const tokens = new ViewerTokens();
  for (const given of [undefined, "Bearer other", "Bearer troupe-viewer.x", "Basic troupe-viewer.a.b"]) {
    assert.deepEqual(await tokens.wrap(asBo).check(given, ""), asBo.check());
    assert.deepEqual(await tokens.wrap(undefined).check(given, ""), { caller: { scopes: [] } });
  }
  assert.deepEqual(tokens.wrap(asBo).scopes, ["all"]);
});

test("there are no viewer's tokens if other machines can reach the server", () => {
  const at = (host: string) => viewerTokens({ host, port: 0 });
  assert.deepEqual(
    ["127.0.0.1", "localhost", "::1", "0.0.0.0", "192.168.1.4", "::"].map((host) => at(host) !== undefined),
    [true, true, true, false, false, false],
  );
  assert.equal(viewerTokens(undefined), undefined);
});
