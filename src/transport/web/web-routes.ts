import type { Answer } from "../../contract/index.ts";
import { type Authenticator, metadataUrlOf } from "../auth/index.ts";

/** What is at a path of an application. */
export type WebRoute = { readonly posture: "meta" | undefined } | { readonly page: () => Answer };

export interface WebRouteOptions {
  readonly path: string;
  readonly auth: Authenticator | undefined;
  /** Takes no work: closing, or the application says so. */
  readonly ready: () => boolean;
  readonly closing: () => boolean;
}

const state = (ok: boolean, word: string): Answer =>
  ok ? { status: 200, body: '{"status":"ok"}' } : { status: 503, body: `{"status":"${word}"}` };

/** The endpoint, its variant, and the pages beside it. `resource` is what tokens are made for. */
export function webRoutes({ path, auth, ready, closing }: WebRouteOptions): (at: string, resource: string) => WebRoute | undefined {
  const fixed = new Map<string, WebRoute>([
    [path, { posture: undefined }],
    [`${path}/meta`, { posture: "meta" }],
    ["/", { posture: undefined }],
    ["/meta", { posture: "meta" }],
    ["/healthz", { page: () => state(!closing(), "closing") }],
    ["/readyz", { page: () => state(!closing() && ready(), closing() ? "closing" : "not ready") }],
  ]);
  const root = "/.well-known/oauth-protected-resource";
  return (at, resource) => {
    const known = fixed.get(at);
    if (known !== undefined || auth === undefined || auth.issuers.length === 0) return known;
    const documents = [root, `${root}${path}`, `${root}${path}/meta`, new URL(metadataUrlOf(resource)).pathname];
    if (!documents.includes(at)) return undefined;
    const headers = { "cache-control": "public, max-age=300" };
    return { page: () => ({ status: 200, headers, body: JSON.stringify(auth.metadata(resource)) }) };
  };
}
