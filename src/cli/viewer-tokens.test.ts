import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../testing/index.ts";
import { ViewerTokens, viewerTokens } from "./viewer-tokens.ts";

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
