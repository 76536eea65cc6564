// A minimal authorization server on loopback that the official clients accept. It grants every requested scope to every client.
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { onLoopback } from "../on-loopback.ts";

export interface AuthorizationServer extends AsyncDisposable {
  readonly issuer: string;
  readonly keys: { readonly keys: readonly Readonly<Record<string, unknown>>[] };
  /** The scopes requested at each authorization. */
  readonly requests: readonly string[];
}

const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" }] };

interface Grant {
  readonly scope: string;
  readonly resource: string;
  readonly challenge: string;
}

export async function authorizationServer(): Promise<AuthorizationServer> {
  const requests: string[] = [];
  const grants = new Map<string, Grant>();
  const http = createServer((request, response) => {
    const run = async (): Promise<void> => {
      const { status = 200, headers = {}, body } = await answer(request);
      response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", ...headers });
      response.end(JSON.stringify(body ?? {}));
    };
    void run();
  });
  const loopback = await onLoopback(http);
  const issuer = loopback.url;

  const granted = async ({ scope, resource }: Grant): Promise<object> => ({
    access_token: await new SignJWT({ scope })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setIssuer(issuer)
      .setAudience(resource)
      .setSubject("ana")
      .setExpirationTime("10 min")
      .sign(privateKey),
    token_type: "Bearer",
    expires_in: 600,
    scope,
  });

  const answer = async (request: IncomingMessage): Promise<{ status?: number; headers?: Record<string, string>; body?: object }> => {
    const { pathname, searchParams: asks } = new URL(request.url ?? "/", issuer);
    if (pathname.startsWith("/.well-known/"))
      return {
        body: {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          response_types_supported: ["code"],
          grant_types_supported: ["authorization_code"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
        },
      };
    if (pathname === "/authorize") {
      const code = randomUUID();
      const scope = asks.get("scope") ?? "";
      requests.push(scope);
      grants.set(code, { scope, resource: asks.get("resource") ?? "", challenge: asks.get("code_challenge") ?? "" });
      const back = new URL(asks.get("redirect_uri") ?? issuer);
      back.searchParams.set("code", code);
      back.searchParams.set("state", asks.get("state") ?? "");
      return { status: 302, headers: { location: back.href } };
    }
    const form = new URLSearchParams(await text(request));
    const grant = grants.get(form.get("code") ?? "");
    grants.delete(form.get("code") ?? "");
    const proof = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return grant === undefined || grant.challenge !== proof
      ? { status: 400, body: { error: "invalid_grant" } }
      : { body: await granted(grant) };
  };

  return {
    issuer,
    keys,
    requests,
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
}
