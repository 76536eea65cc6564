import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { fakeGateway } from "../../../test/transport/fake-gateway.ts";
import { rawSocket, head } from "../../../test/transport/raw-socket.ts";
import { eventually } from "../../../test/transport/settle.ts";
import type { Channel, Json } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { type Authenticator, type AuthOptions, authenticator, hashApiKey, serveHttp, serveTcp, type Verdict, webHandler } from "./index.ts";

const ISSUER = "https://login.example";
const RESOURCE = "https://troupe.example/mcp";
const KEY = "fB7cKq0yRz5n1XwTt3LhQ9";
const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
const other = await generateKeyPair("ES256", { extractable: true });
const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" };
const keys = { keys: [jwk] };

const token = (
  claims: Readonly<Record<string, unknown>> = {},
  sign: { key?: typeof privateKey; kid?: string | null; alg?: string; typ?: string } = {},
): Promise<string> =>
  new SignJWT({ iss: ISSUER, aud: RESOURCE, sub: "ada", exp: Math.floor(Date.now() / 1_000) + 600, scope: "play look", ...claims })
    .setProtectedHeader({
      alg: sign.alg ?? "ES256",
      ...(sign.kid === null ? {} : { kid: sign.kid ?? "one" }),
      ...(sign.typ === undefined ? {} : { typ: sign.typ }),
    })
    .sign(sign.key ?? privateKey);

async function serve(options: Omit<AuthOptions, "resource"> & { readonly resource?: string | undefined }) {
  const { resource = RESOURCE, ...rest } = options;
  const gateway = fakeGateway();
  const logged: Json[] = [];
  const auth = await authenticator({ ...rest, resource });
  const door = await serveHttp({ gateway, auth, log: (_level, data) => void logged.push(data) });
  const ask = (authorization?: string, path = "/mcp"): Promise<Response> =>
    fetch(`http://127.0.0.1:${door.port}${path}`, {
      method: "POST",
      body: '{"id":1}',
      headers: { "content-type": "application/json", ...(authorization === undefined ? {} : { authorization }) },
    });
  return { gateway, door, logged, ask, [Symbol.asyncDispose]: () => door.close({ graceMs: 0 }) };
}

/** Why a token is refused; undefined: it is taken. */
async function refusedBy(server: { ask(authorization: string): Promise<Response> }, bearer: string): Promise<string | undefined> {
  const response = await server.ask(`Bearer ${bearer}`);
  return response.status === 200 ? undefined : /error_description="([^"]*)"/.exec(response.headers.get("www-authenticate") ?? "")?.[1];
}

const fine = () => ({ status: 200, body: "{}" });
const META = 'resource_metadata="https://troupe.example/.well-known/oauth-protected-resource/mcp"';
const issuers = [{ issuer: ISSUER, keys }];

describe("bearer tokens", () => {
  it("of an issuer name the principal by issuer and subject, with their scopes #secure.jwks #spec.6.practices", async () => {
    await using server = await serve({ issuers });
    const response = await server.ask(`Bearer ${await token()}`);
    assert.equal(response.status, 200);
    assert.deepEqual(server.gateway.exchanges[0]?.caller, { principal: `${ISSUER}|ada`, scopes: ["play", "look"], peer: "127.0.0.1" });
    await server.ask(`bearer ${await token({ scope: undefined, scp: ["a", 1, "b"] })}`);
    assert.deepEqual(server.gateway.exchanges[1]?.caller.scopes, ["a", "b"]);
    // What was checked goes no further: nothing behind the door can pass it on.
    assert.equal(server.gateway.exchanges[0]?.header("authorization"), undefined);
  });

  it("are requested by a challenge with all a client needs to get one #secure.challenges #spec.6.flows", async () => {
    await using server = await serve({ issuers, scopes: ["play"] });
    const response = await server.ask();
    assert.equal(response.status, 401);
    assert.equal(response.headers.get("www-authenticate"), `Bearer scope="play", ${META}`);
    assert.deepEqual(await response.json(), { error: "unauthorized", error_description: "Send a token as Authorization: Bearer." });
    assert.equal((await server.ask("Basic YTpi")).status, 401);
    assert.equal((await server.ask(undefined, "/mcp?access_token=x")).status, 401);
    assert.equal(server.gateway.exchanges.length, 0);
  });

  it("that are invalid are refused with the reason, without the token #secure.logs", async () => {
    await using server = await serve({ issuers });
    const now = Math.floor(Date.now() / 1_000);
    const cases: readonly (readonly [string, string])[] = [
      [await token({ exp: now - 60 }), "The token has expired."],
      [await token({ nbf: now + 60 }), "The token's nbf does not fit this server."],
      [await token({ aud: "https://other.example/mcp" }), "The token's aud does not fit this server."],
      [await token({ aud: undefined }), "The token's aud does not fit this server."],
      [await token({ sub: undefined }), "The token's sub does not fit this server."],
      [await token({ sub: ["ada"] }), "The token's sub does not fit this server."],
      [await token({ sub: 7 }), "The token's sub does not fit this server."],
      [await token({ sub: "" }), "The token's sub does not fit this server."],
      [await token({ exp: undefined }), "The token's exp does not fit this server."],
      [await token({ iss: "https://evil.example" }), "The token's issuer is not one of this server."],
      [await token({}, { key: other.privateKey }), "The token was not signed by a key of its issuer."],
      [await token({}, { kid: "two" }), "The token was not signed by a key of its issuer."],
      [`${(await token()).slice(0, -4)}AAAA`, "The token was not signed by a key of its issuer."],
      [unsigned({ iss: ISSUER, aud: RESOURCE, sub: "ada", exp: now + 60 }), "The token is not known here."],
      ["a.b.c", "The token cannot be verified."],
      ["abcdefgh", "The token is not known here."],
      ["two words", "The token is not well formed."],
    ];
    for (const [bad, why] of cases) {
      const response = await server.ask(`Bearer ${bad}`);
      assert.equal(response.status, 401, why);
      assert.equal(response.headers.get("www-authenticate"), `Bearer error="invalid_token", error_description="${why}", ${META}`);
      const text = await response.text();
      assert.ok(!text.includes(bad));
      assert.ok(!JSON.stringify(server.logged).includes(bad));
    }
    assert.equal(server.gateway.exchanges.length, 0);
  });

  it("are not verified for a peer that sent too many bad ones, until it waits", async () => {
    const clock = new SimulatedClock(Date.now());
    const auth = await authenticator({ issuers, resource: RESOURCE, clock, keys: [{ name: "key", sha256: hashApiKey(KEY) }] });
    const refusedAs = async (authorization: string, peer: string): Promise<string | undefined> => {
      const verdict = await auth.check(authorization, RESOURCE, peer);
      return "refused" in verdict ? verdict.refused : undefined;
    };
    const good = `Bearer ${await token()}`;
    const forged = `Bearer ${await token({}, { key: other.privateKey })}`;
    const peer = "192.0.2.1";
    for (let n = 0; n < 100; n += 1) assert.equal(await refusedAs(forged, peer), "invalid");
    assert.equal(await refusedAs(forged, peer), "limited");
    assert.equal(await refusedAs(good, peer), "limited");
    // A key costs a hash, and other peers have done nothing.
    assert.equal(await refusedAs(`Bearer ${KEY}`, peer), undefined);
    assert.equal(await refusedAs(`Bearer ${await token({ sub: "bob" })}`, "192.0.2.2"), undefined);
    await clock.advance(1_000);
    assert.equal(await refusedAs(good, peer), undefined);
    for (let n = 0; n < 200; n += 1) assert.equal(await refusedAs(`Bearer ${await token({ sub: `user-${n}` })}`, "192.0.2.2"), undefined);
  });

  it("are answered 429 after too many bad ones", async () => {
    const gateway = fakeGateway();
    const auth: Authenticator = {
      ...(await authenticator({ issuers, resource: RESOURCE })),
      check: () => ({ refused: "limited", why: "Too many." }),
    };
    await using door = await serveHttp({ gateway, auth });
    const response = await fetch(`http://127.0.0.1:${door.port}/mcp`, {
      method: "POST",
      body: "{}",
      headers: { authorization: "Bearer x" },
    });
    assert.deepEqual([response.status, response.headers.get("retry-after")], [429, "5"]);
  });

  it("signed with a shared secret are refused, also with the public key as that secret", async () => {
    await using server = await serve({ issuers });
    const secret = new TextEncoder().encode(JSON.stringify(jwk));
    const forged = await new SignJWT({ iss: ISSUER, aud: RESOURCE, sub: "ada", exp: Math.floor(Date.now() / 1_000) + 60 })
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .sign(secret);
    assert.equal((await server.ask(`Bearer ${forged}`)).status, 401);
  });

  it("without a scope are refused with the missing scope #secure.challenges", async () => {
    await using server = await serve({ issuers, scopes: ["play", "admin"] });
    const response = await server.ask(`Bearer ${await token()}`);
    assert.equal(response.status, 403);
    assert.equal(
      response.headers.get("www-authenticate"),
      `Bearer error="insufficient_scope", error_description="This needs the scope play admin.", scope="play admin", ${META}`,
    );
    assert.equal((await server.ask(`Bearer ${await token({ scope: "admin play" })}`)).status, 200);
  });

  it("without a scope of one tool get a challenge with the metadata address", async () => {
    const gateway = fakeGateway({
      exchange: () => ({ status: 403, headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="keys"' }, body: "{}" }),
    });
    const door = await serveHttp({ gateway, auth: await authenticator({ issuers, resource: RESOURCE }) });
    const response = await fetch(door.url, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json", authorization: `Bearer ${await token()}` },
    });
    assert.equal(response.headers.get("www-authenticate"), `Bearer error="insufficient_scope", scope="keys", ${META}`);
    await door.close({ graceMs: 0 });
  });

  it("are challenged without quotes and backslashes of a description", async () => {
    const quick = await authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY) }] });
    const why = 'The "role" is C:\\none, sä.';
    const auth: Authenticator = { ...quick, check: () => ({ refused: "invalid", why }) };
    await using door = await serveHttp({ gateway: fakeGateway(), auth });
    const response = await fetch(door.url, { method: "POST", headers: { authorization: "Bearer x" } });
    assert.equal(response.headers.get("www-authenticate"), `Bearer error="invalid_token", error_description="The 'role' is C:'none, s?."`);
    assert.deepEqual(await response.json(), { error: "invalid_token", error_description: "The 'role' is C:'none, s?." });
  });

  it("without a kid are verified with every suitable key, up to a limit", async () => {
    const pair = await generateKeyPair("ES256", { extractable: true });
    const rsa = { ...(await exportJWK((await generateKeyPair("RS256", { extractable: true })).publicKey)), use: "enc" };
    const unnamed = { ...(await exportJWK(publicKey)), kid: undefined };
    const next = { ...(await exportJWK(pair.publicKey)), alg: "ES256" };
    const check = async (set: readonly Readonly<Record<string, unknown>>[], bearer: string): Promise<string | undefined> => {
      const auth = await authenticator({ issuers: [{ issuer: ISSUER, keys: { keys: set } }], resource: RESOURCE });
      const verdict = await auth.check(`Bearer ${bearer}`, RESOURCE);
      return "refused" in verdict ? verdict.why : verdict.caller.principal;
    };
    const old = await token({}, { kid: null });
    const fresh = await token({}, { kid: null, key: pair.privateKey });
    const ada = `${ISSUER}|ada`;
    for (const good of [old, fresh])
      assert.deepEqual([await check([unnamed, rsa, next], good), await check([next, rsa, jwk], good)], [ada, ada]);
    // Nor does one that is too short to be used keep the others from being tried.
    const short = generateKeyPairSync("rsa", { modulusLength: 1_024 }).publicKey.export({ format: "jwk" });
    const long = await generateKeyPair("RS256");
    const byLong = await token({}, { kid: null, key: long.privateKey, alg: "RS256" });
    assert.equal(await check([{ ...short }, { ...(await exportJWK(long.publicKey)) }], byLong), ada);
    // Two keys of one name are alike.
    assert.equal(await check([{ ...next, kid: "one" }, jwk], await token()), ada);
    const forged = await token({}, { kid: null, key: other.privateKey });
    assert.equal(await check([jwk, next], forged), "The token was not signed by a key of its issuer.");
    assert.equal(await check([jwk, next], await token({ aud: "x" }, { kid: null })), "The token's aud does not fit this server.");
    const many = Array.from({ length: 16 }, () => next);
    assert.equal(await check([...many, jwk], old), "The token was not signed by a key of its issuer.");
    assert.equal(await check([...many.slice(1), jwk], old), ada);
  });

  it("bound to a key of their holder are refused", async () => {
    await using server = await serve({ issuers });
    for (const cnf of [{ jkt: "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" }, { "x5t#S256": "x" }, {}, null])
      assert.match((await refusedBy(server, await token({ cnf }))) ?? "", /bound to a key of its holder/);
  });

  it("that are not access tokens are refused", async () => {
    await using server = await serve({ issuers });
    const others = [
      { nonce: "n" },
      { at_hash: "x" },
      { c_hash: "x" },
      { token_use: "id" },
      { typ: "ID" },
      { typ: "Refresh" },
      { events: {} },
    ];
    for (const claims of others) assert.match((await refusedBy(server, await token(claims))) ?? "", /not an access token/);
    for (const typ of ["id_token+jwt", "logout+jwt", "dpop+jwt", "application/secevent+jwt"])
      assert.match((await refusedBy(server, await token({}, { typ }))) ?? "", /not an access token/);
    for (const typ of ["JWT", "at+jwt", "application/at+jwt", "AT+JWT"])
      assert.equal(
        await refusedBy(server, await token({ typ: "Bearer", token_use: "access", auth_time: 1, acr: "0" }, { typ })),
        undefined,
      );
  });

  it("must have the configured type", async () => {
    await using server = await serve({ issuers: [{ issuer: ISSUER, keys, typ: "at+jwt" }] });
    for (const typ of ["at+jwt", "application/at+jwt"]) assert.equal(await refusedBy(server, await token({}, { typ })), undefined);
    for (const sign of [{}, { typ: "JWT" }])
      assert.equal(await refusedBy(server, await token({}, sign)), "The token's typ does not fit this server.");
  });

  it("have their scopes in the configured claim, else in scope, or in scp if that is empty", async () => {
    const scopesOf = async (scopesClaim: string | undefined, claims: Readonly<Record<string, unknown>>): Promise<readonly string[]> => {
      const named = scopesClaim === undefined ? {} : { scopesClaim };
      const auth = await authenticator({ issuers: [{ issuer: ISSUER, keys, ...named }], resource: RESOURCE });
      const verdict = await auth.check(`Bearer ${await token(claims)}`, RESOURCE);
      assert.ok(!("refused" in verdict));
      return verdict.caller.scopes;
    };
    assert.deepEqual(await scopesOf(undefined, { scope: "", scp: ["a"] }), ["a"]);
    assert.deepEqual(await scopesOf(undefined, { scope: " ", scp: "a b" }), ["a", "b"]);
    assert.deepEqual(await scopesOf(undefined, { scope: 7, scp: "a" }), ["a"]);
    assert.deepEqual(await scopesOf(undefined, { scope: "a", scp: "b" }), ["a"]);
    assert.deepEqual(await scopesOf("roles", { scope: "a", roles: ["b", 1, "c"] }), ["b", "c"]);
    assert.deepEqual(await scopesOf("https://app.example/permissions", { "https://app.example/permissions": "b c" }), ["b", "c"]);
    for (const missing of ["roles", "constructor", "__proto__", "toString"]) assert.deepEqual(await scopesOf(missing, {}), []);
  });

  it("pass on the claims that the options name, and no other", async () => {
    const claimsOf = async (claims: readonly string[] | undefined, payload: Readonly<Record<string, unknown>>): Promise<unknown> => {
      const auth = await authenticator({ issuers, resource: RESOURCE, ...(claims === undefined ? {} : { claims }) });
      const verdict = await auth.check(`Bearer ${await token(payload)}`, RESOURCE);
      return "refused" in verdict ? verdict.why : verdict.caller.claims;
    };
    const payload = { roles: ["responder"], tenant: "acme", email: "ada@example.org" };
    assert.deepEqual(await claimsOf(["roles", "tenant"], payload), { roles: ["responder"], tenant: "acme" });
    assert.equal(await claimsOf(undefined, payload), undefined);
    for (const missing of ["groups", "constructor", "__proto__", "toString"]) assert.equal(await claimsOf([missing], payload), undefined);
    const found = await claimsOf(["roles"], payload);
    assert.ok(typeof found === "object" && found !== null && "roles" in found && Object.isFrozen(found) && Object.isFrozen(found.roles));
    const excessive = /^The claims of the token that this server reads are more than 32, larger than 8192 bytes or nested deeper than 16: /;
    assert.match(String(await claimsOf(["roles"], { roles: "é".repeat(4_096) })), excessive);
    assert.match(String(await claimsOf(["roles"], { roles: JSON.parse("[".repeat(20) + "]".repeat(20)) })), excessive);
    const many = Array.from({ length: 33 }, (_, n) => `claim${n}`);
    for (const names of [many, [""], ["x".repeat(257)]]) await assert.rejects(claimsOf(names, payload), { code: "BAD_OPTION" });
  });

  it("of API keys pass on the key's own claims, within bounds", async () => {
    const key = { name: "ada", sha256: hashApiKey(KEY) };
    const auth = await authenticator({ keys: [{ ...key, claims: { roles: ["responder"] } }], claims: ["tenant"] });
    const verdict = await auth.check(`Bearer ${KEY}`, "");
    assert.ok(!("refused" in verdict));
    assert.deepEqual(verdict.caller, { principal: "ada", scopes: [], claims: { roles: ["responder"] } });
    for (const claims of [{ text: "x".repeat(9_000) }, Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`claim${n}`, n]))])
      await assert.rejects(authenticator({ keys: [{ ...key, claims }] }), {
        code: "BAD_OPTION",
        message: /^The claims of the API key "ada" /,
      });
  });

  it("may have another audience if it is configured for the issuer", async () => {
    await using server = await serve({ issuers: [{ issuer: ISSUER, keys, audience: ["api://troupe"] }] });
    assert.equal((await server.ask(`Bearer ${await token({ aud: ["x", "api://troupe"] })}`)).status, 200);
    assert.equal((await server.ask(`Bearer ${await token()}`)).status, 401);
  });

  it("are required on the meta endpoint and by mounted handlers, except open ones", async () => {
    const gateway = fakeGateway();
    const auth = await authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY) }] });
    const door = await serveHttp({
      gateway,
      auth,
      endpoints: [
        { path: "/packets", handle: fine },
        { path: "/open", handle: fine, open: true },
      ],
    });
    const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(`http://127.0.0.1:${door.port}${path}`, { method: path === "/mcp/meta" ? "POST" : "GET", headers })).status;
    assert.equal(await status("/mcp/meta"), 401);
    assert.equal(await status("/packets/x"), 401);
    assert.equal(await status("/packets/x", { authorization: `Bearer ${KEY}` }), 200);
    assert.equal(await status("/open"), 200);
    assert.equal(await status("/healthz"), 200);
    await door.close({ graceMs: 0 });
  });

  it("that are API keys name their owner; without an issuer there is no metadata #secure.static-keys", async () => {
    await using server = await serve({ keys: [{ name: "ada", sha256: hashApiKey(KEY), scopes: ["play"] }], resource: undefined });
    await server.ask(`Bearer ${KEY}`);
    assert.deepEqual(server.gateway.exchanges[0]?.caller, { principal: "ada", scopes: ["play"], peer: "127.0.0.1" });
    const refused = await server.ask();
    assert.equal(refused.headers.get("www-authenticate"), "Bearer");
    const nothing = await fetch(`http://127.0.0.1:${server.door.port}/.well-known/oauth-protected-resource`);
    assert.equal(nothing.status, 404);
    const expired = await serve({ keys: [{ name: "ada", sha256: hashApiKey(KEY), expiresAt: 1 }] });
    assert.match((await expired.ask(`Bearer ${KEY}`)).headers.get("www-authenticate") ?? "", /The API key has expired/);
    await expired.door.close({ graceMs: 0 });
  });

  it("are answered 503 if a custom authenticator throws", async () => {
    const quick = await authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY) }] });
    const failures: Readonly<Record<string, () => Verdict | Promise<Verdict>>> = {
      "Bearer once": () => {
        throw new Error("at once");
      },
      "Bearer later": () => Promise.reject(new Error("later")),
    };
    const auth: Authenticator = {
      ...quick,
      check: (authorization = "", resource) => failures[authorization]?.() ?? quick.check(authorization, resource),
    };
    const logged: Json[] = [];
    const gateway = fakeGateway();
    await using door = await serveHttp({
      gateway,
      auth,
      upgrades: [{ path: "/socket", connect: (channel, caller) => gateway.connect(channel, caller) }],
      log: (_level, data) => void logged.push(data),
    });
    const post = (authorization: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${door.port}/mcp`, {
        method: "POST",
        body: '{"id":1}',
        headers: { "content-type": "application/json", authorization },
      });
    for (const authorization of Object.keys(failures)) {
      const refused = await post(authorization);
      assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"], authorization);
      assert.deepEqual(await refused.json(), {
        error: "temporarily_unavailable",
        error_description: "The token cannot be checked now: try again.",
      });
      await using upgrade = await rawSocket(door.port);
      const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
      upgrade.write(
        head(
          "GET /socket HTTP/1.1",
          "Host: localhost",
          "Connection: Upgrade",
          "Upgrade: websocket",
          "Sec-WebSocket-Version: 13",
          key,
          `Authorization: ${authorization}`,
        ),
      );
      assert.match(await upgrade.closed(), /^HTTP\/1\.1 503 [\s\S]*retry-after: 5[\s\S]*cannot be checked now/i);
    }
    const line = { event: "request-refused", why: "unavailable" };
    assert.deepEqual(
      logged.slice(1),
      [
        { ...line, transport: "http" },
        { ...line, transport: "websocket" },
      ],
      "the others came within five seconds",
    );
    assert.equal((await post(`Bearer ${KEY}`)).status, 200);
  });

  it("that are checked slowly lose no part of the body and lift no limit", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const quick = await authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY) }] });
    const auth: Authenticator = {
      ...quick,
      async check(authorization, resource) {
        await promise;
        return quick.check(authorization, resource);
      },
    };
    const gateway = fakeGateway();
    const door = await serveHttp({ gateway, auth, limits: { bodyBytes: 1_000 } });
    const start = head(
      "POST /mcp HTTP/1.1",
      "Host: localhost",
      `Authorization: Bearer ${KEY}`,
      "Content-Type: application/json",
      "Transfer-Encoding: chunked",
    );
    await using good = await rawSocket(door.port);
    good.write(`${start}8\r\n{"id":1}\r\n0\r\n\r\n`);
    await using large = await rawSocket(door.port);
    large.write(`${start}${"3e8\r\n".concat("x".repeat(1_000), "\r\n").repeat(50)}0\r\n\r\n`);
    await using wrong = await rawSocket(door.port);
    wrong.write(`${start.replace(KEY, "another-key")}8\r\n{"id":1}\r\n0\r\n\r\n`);
    await eventually(() => [good, large, wrong].every((client) => client.socket.writableLength === 0));
    resolve();
    assert.match(await good.until(/\}$/), /200 OK[\s\S]*"id":1/);
    assert.match(await large.closed(), /^HTTP\/1\.1 413 /);
    assert.match(await wrong.closed(), /^HTTP\/1\.1 401 /);
    assert.equal(gateway.exchanges.length, 1);
    await door.close({ graceMs: 0 });
  });

  it("end their streams when they expire, after a pending answer", async () => {
    const channels: Channel[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const gateway = fakeGateway({
      async exchange(exchange) {
        channels.push(exchange.stream());
        if (exchange.verb === "GET") return { status: 200, open: true };
        await promise;
        return { status: 200, body: '"delayed"' };
      },
    });
    const auth = await authenticator({ keys: [{ name: "ada", sha256: hashApiKey(KEY), expiresAt: Date.now() + 150 }] });
    const door = await serveHttp({ gateway, auth });
    await using listening = await rawSocket(door.port);
    listening.write(head("GET /mcp HTTP/1.1", "Host: localhost", `Authorization: Bearer ${KEY}`));
    await using waiting = await rawSocket(door.port);
    waiting.write(
      `${head("POST /mcp HTTP/1.1", "Host: localhost", `Authorization: Bearer ${KEY}`, "Content-Type: application/json", "Content-Length: 2")}{}`,
    );
    await listening.until("\r\n0\r\n\r\n");
    await eventually(() => channels.some((channel) => channel.disconnected.aborted));
    resolve();
    assert.match(await waiting.until("\r\n0\r\n\r\n"), /data: "delayed"/);
    await door.close({ graceMs: 0 });
  });
});

describe("protected-resource metadata", () => {
  it("is at the address in the challenge, and names the authorization servers #secure.metadata #spec.6.flows", async () => {
    await using server = await serve({ issuers, scopes: ["play"], name: "The Keep", documentation: "https://troupe.example/help" });
    for (const path of ["", "/mcp", "/mcp/meta"]) {
      const response = await fetch(`http://127.0.0.1:${server.door.port}/.well-known/oauth-protected-resource${path}`);
      assert.equal(response.status, 200);
      assert.deepEqual(await response.json(), {
        resource: RESOURCE,
        authorization_servers: [ISSUER],
        bearer_methods_supported: ["header"],
        scopes_supported: ["play"],
        resource_name: "The Keep",
        resource_documentation: "https://troupe.example/help",
      });
    }
  });

  it("names the listening address by default, which is the audience then", async () => {
    const gateway = fakeGateway();
    const auth = await authenticator({ issuers });
    const door = await serveHttp({ gateway, auth });
    const document: unknown = await (await fetch(`http://127.0.0.1:${door.port}/.well-known/oauth-protected-resource/mcp`)).json();
    assert.ok(typeof document === "object" && document !== null && "resource" in document);
    assert.equal(document.resource, door.url);
    const good = await token({ aud: door.url });
    const call = (bearer: string) =>
      fetch(door.url, { method: "POST", body: "{}", headers: { "content-type": "application/json", authorization: `Bearer ${bearer}` } });
    assert.equal((await call(good)).status, 200);
    assert.equal((await call(await token())).status, 401);
    await assert.rejects(serveTcp({ gateway, auth }), { code: "BAD_OPTION", message: /need the resource or audience they are made for/ });
    await door.close({ graceMs: 0 });
  });

  it("and the audience come from configuration, so a transport without an address requires one", async () => {
    const gateway = fakeGateway();
    const auth = await authenticator({ issuers });
    const refused = { code: "BAD_OPTION", message: /need the resource or audience they are made for/ };
    assert.throws(() => webHandler({ gateway, auth }), refused);
    for (const host of ["0.0.0.0", "::"]) await assert.rejects(serveHttp({ gateway, auth, host }), refused);
    const named = await authenticator({ issuers: [{ issuer: ISSUER, keys, audience: "api://troupe" }] });
    const door = webHandler({ gateway, auth: named, allowedHosts: ["*"] });
    const ask = async (host: string, aud: string): Promise<Response> =>
      door.fetch(
        new Request(`http://${host}/mcp`, {
          method: "POST",
          body: "{}",
          headers: { host, "content-type": "application/json", authorization: `Bearer ${await token({ aud })}` },
        }),
      );
    assert.equal((await ask("localhost:8123", "api://troupe")).status, 200);
    for (const host of ["localhost:8123", "app.example"]) {
      const response = await ask(host, `http://${host}/mcp`);
      assert.equal(response.status, 401);
      assert.equal(
        response.headers.get("www-authenticate"),
        `Bearer error="invalid_token", error_description="The token's aud does not fit this server."`,
      );
      const page = await door.fetch(new Request(`http://${host}/.well-known/oauth-protected-resource/mcp`, { headers: { host } }));
      assert.equal(page.status, 404);
    }
  });
});

describe("key sets", () => {
  let directory = "";
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "troupe-auth-"));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it("are read from a file", async () => {
    const path = join(directory, "jwks.json");
    await writeFile(path, JSON.stringify(keys));
    await using server = await serve({ issuers: [{ issuer: ISSUER, keys: path }] });
    assert.equal((await server.ask(`Bearer ${await token()}`)).status, 200);
  });

  it("may start with a byte order mark", async () => {
    const path = join(directory, "bom.json");
    await writeFile(path, `\uFEFF${JSON.stringify(keys)}`);
    await using server = await serve({ issuers: [{ issuer: ISSUER, keys: path }] });
    assert.equal((await server.ask(`Bearer ${await token()}`)).status, 200);
  });

  it("are fetched once on first use, and again for an unknown key #secure.jwks", async () => {
    let fetched = 0;
    const origin = createServer((_request, response) => {
      fetched += 1;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(keys));
    }).listen(0, "127.0.0.1");
    await new Promise<void>((done) => void origin.once("listening", () => done()));
    const address = origin.address();
    assert.ok(typeof address === "object" && address !== null);
    await using server = await serve({ issuers: [{ issuer: ISSUER, keys: `http://127.0.0.1:${address.port}/jwks` }] });
    assert.equal(fetched, 0);
    const good = await token();
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await server.ask(`Bearer ${good}`)).status));
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(fetched, 1);
    // Strangers' key names do not make us fetch at their pace.
    for (let index = 0; index < 5; index += 1)
      assert.equal((await server.ask(`Bearer ${await token({}, { kid: `k${index}` })}`)).status, 401);
    assert.equal(fetched, 1);
    origin.close();
    origin.closeAllConnections();
  });

  it("are fetched again for a token without a kid that no key verifies, at most every 30 s", async (context) => {
    const pair = await generateKeyPair("ES256", { extractable: true });
    let set: readonly object[] = [jwk];
    let fetched = 0;
    const origin = createServer((_request, response) => {
      fetched += 1;
      response.end(JSON.stringify({ keys: set }));
    }).listen(0, "127.0.0.1");
    await new Promise<void>((done) => void origin.once("listening", () => done()));
    const address = origin.address();
    assert.ok(typeof address === "object" && address !== null);
    await using server = await serve({ issuers: [{ issuer: ISSUER, keys: `http://127.0.0.1:${address.port}/` }] });
    const forged = await token({}, { kid: null, key: other.privateKey });
    const rotated = await token({}, { kid: null, key: pair.privateKey });
    assert.equal(await refusedBy(server, await token({}, { kid: null })), undefined);
    set = [await exportJWK(pair.publicKey)];
    for (let index = 0; index < 3; index += 1) assert.match((await refusedBy(server, forged)) ?? "", /not signed/);
    assert.equal(fetched, 1);
    // The library that keeps the set reads the system's clock.
    context.mock.timers.enable({ apis: ["Date"], now: Date.now() + 31_000 });
    assert.equal(await refusedBy(server, rotated), undefined);
    assert.equal(fetched, 2);
    for (let index = 0; index < 3; index += 1) assert.match((await refusedBy(server, forged)) ?? "", /not signed/);
    assert.equal(fetched, 2);
    origin.close();
    origin.closeAllConnections();
  });

  it("that cannot be fetched are not requested again for each token", async () => {
    let fetched = 0;
    let text = "";
    const origin = createServer((_request, response) => {
      fetched += 1;
      response.end(text);
    }).listen(0, "127.0.0.1");
    await new Promise<void>((done) => void origin.once("listening", () => done()));
    const address = origin.address();
    assert.ok(typeof address === "object" && address !== null);
    const clock = new SimulatedClock(Date.now());
    const auth = await authenticator({
      issuers: [{ issuer: ISSUER, keys: `http://127.0.0.1:${address.port}/` }],
      resource: RESOURCE,
      clock,
    });
    const check = async (): Promise<string> => {
      const verdict = await auth.check(`Bearer ${await token()}`, "");
      return "refused" in verdict ? verdict.refused : "good";
    };
    for (let index = 0; index < 5; index += 1) assert.equal(await check(), "unavailable");
    assert.equal(fetched, 1);
    text = JSON.stringify(keys);
    await clock.advance(5_000);
    assert.equal(await check(), "good");
    assert.equal(fetched, 2);
    origin.close();
    origin.closeAllConnections();
  });

  it("that cannot be fetched make the answer 503, not 401", async () => {
    for (const serveKeys of [
      (response: { statusCode: number; end(text: string): void }) => {
        response.statusCode = 500;
        response.end("no");
      },
      (response: { end(text: string): void }) => response.end("x".repeat(400_000)),
      (response: { end(text: string): void }) => response.end('{"keys":1}'),
      (response: { statusCode: number; setHeader(name: string, value: string): void; end(text: string): void }) => {
        response.statusCode = 302;
        response.setHeader("location", "http://127.0.0.1:1/");
        response.end("");
      },
    ]) {
      const origin = createServer((_request, response) => serveKeys(response)).listen(0, "127.0.0.1");
      await new Promise<void>((done) => void origin.once("listening", () => done()));
      const address = origin.address();
      assert.ok(typeof address === "object" && address !== null);
      const server = await serve({ issuers: [{ issuer: ISSUER, keys: `http://127.0.0.1:${address.port}/` }] });
      const response = await server.ask(`Bearer ${await token()}`);
      assert.equal(response.status, 503);
      assert.equal(response.headers.get("retry-after"), "5");
      assert.equal(response.headers.get("www-authenticate"), null);
      await server.door.close({ graceMs: 0 });
      origin.close();
      origin.closeAllConnections();
    }
  });

  it("and other invalid options are refused at the start", async () => {
    const wrong: readonly (readonly [AuthOptions, RegExp])[] = [
      [{}, /at least one API key or one issuer/],
      [{ keys: [{ name: "a|b", sha256: hashApiKey("x") }] }, /cannot name an API key/],
      [{ keys: [{ name: "_a", sha256: hashApiKey("x") }] }, /begin with a letter or digit/],
      [{ keys: [{ name: "a", sha256: "secret" }] }, /64 hex digits/],
      [{ issuers: [{ issuer: "a|b", keys }] }, /cannot be an issuer/],
      [{ issuers: [...issuers, ...issuers] }, /given twice/],
      [{ issuers: [{ issuer: ISSUER, keys: "http://login.example/jwks" }] }, /over https/],
      [{ issuers: [{ issuer: ISSUER, keys: "/nowhere/jwks.json" }] }, /cannot be read/],
      [{ issuers: [{ issuer: ISSUER, keys: { keys: [] } }] }, /not a JSON Web Key Set/],
      [{ issuers, resource: "troupe" }, /is not an address/],
      [{ issuers, scopes: ['a"b'] }, /A scope is a text without/],
    ];
    for (const [options, message] of wrong) await assert.rejects(authenticator(options), { code: "BAD_OPTION", message });
  });
});

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function unsigned(claims: object): string {
  return `${part({ alg: "none" })}.${part(claims)}.`;
}
