// Owns: the secret that this tab sends, and how it got it. Does not own: requests (api.ts).
import { signal } from "@preact/signals";

const NAME = "troupe-console-token";

/** A launch token, an API key or an access token. Undefined: not signed in. */
export const token = signal<string | undefined>(sessionStorage.getItem(NAME) ?? undefined);

/** The link that the server prints has the token behind `#`, which browsers send to no server. It leaves the address at once. */
export function adoptToken(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  signIn(given);
  history.replaceState(null, "", location.pathname + location.search);
}

/** Kept by this tab only, until it is closed. */
export function signIn(secret: string): void {
  sessionStorage.setItem(NAME, secret);
  token.value = secret;
}

export function signOut(): void {
  sessionStorage.removeItem(NAME);
  token.value = undefined;
}
