// Owns: tokens with which the console of `troupe dev` connects to MCP as any viewer: making them, and recognising them. Does not own: who
// gets one (the console's API), or callers without one (dev-caller.ts).
import { type Clock, type Caller, isJsonObject, systemClock } from "../core/contract/index.ts";
import { isTexts, omitUndefined, tryParseJson } from "../core/contract/internal.ts";
import { base64urlOf, fromBase64, hmacSha256, sameBytes, secretBytes, textOf, utf8Of } from "../core/platform/index.ts";
import type { Authenticator } from "../mcp/transport/index.ts";
import { isLoopback } from "../mcp/transport/listen.ts";
import type { HostPort } from "./address.ts";

const LIFETIME_MS = 60 * 60_000;
const TOKEN = /^Bearer +troupe-viewer\.([\w-]+)\.([\w-]{43}) *$/i;

type Verdict = Awaited<ReturnType<Authenticator["check"]>>;

const ANONYMOUS: Verdict = { caller: { scopes: [] } };

/** Signed, not stored: however many are made, they take no memory. The key is that of the process, so they end with it. */
export class ViewerTokens {
  readonly #key = secretBytes(32);
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  issue({ principal, scopes, claims }: Caller): { readonly token: string; readonly expiresAt: number } {
    const expiresAt = this.#clock.now() + LIFETIME_MS;
    const body = base64urlOf(utf8Of(JSON.stringify({ expiresAt, scopes, ...omitUndefined({ principal, claims }) })));
    return { token: `troupe-viewer.${body}.${this.#sign(body)}`, expiresAt };
  }

  /** Accepts these tokens, and leaves other callers to `next`; without it, they are anonymous. */
  before(next: Authenticator | undefined): Authenticator {
    const rest = next ?? { scopes: [], issuers: [], needsResource: false, check: () => ANONYMOUS, metadata: () => ({}) };
    return {
      ...rest,
      check: (authorization, resource, peer) => this.#check(authorization) ?? rest.check(authorization, resource, peer),
    };
  }

  /** Undefined: it is another token, or none. */
  #check(authorization: string | undefined): Verdict | undefined {
    const [, body = "", signature = ""] = TOKEN.exec(authorization ?? "") ?? [];
    if (body === "") return undefined;
    const value = sameBytes(utf8Of(signature), utf8Of(this.#sign(body))) ? tryParseJson(textOf(fromBase64(body)) ?? "") : undefined;
    if (!isJsonObject(value)) return { refused: "invalid", why: "The server has restarted since this viewer connected: connect again." };
    const { expiresAt, principal, scopes, claims } = value;
    if (typeof expiresAt !== "number" || expiresAt <= this.#clock.now())
      return { refused: "invalid", why: "The token of this viewer has expired: connect again." };
    const caller: Caller = {
      scopes: isTexts(scopes) ? scopes : [],
      ...(typeof principal === "string" && { principal }),
      ...(isJsonObject(claims) && { claims }),
    };
    return { caller, expiresAt };
  }

  #sign(body: string): string {
    return base64urlOf(hmacSha256(this.#key, body));
  }
}

/** Undefined: other machines reach the server, so callers need keys of their own. */
export function viewerTokens(at: HostPort | undefined): ViewerTokens | undefined {
  return at !== undefined && isLoopback(at.host) ? new ViewerTokens() : undefined;
}
