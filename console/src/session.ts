// Owns: the secret that this tab sends, how it got it, and why it has none. Does not own: requests (api.ts), the form (sign-in.tsx).
import { signal } from "@preact/signals";

const NAME = "troupe-console-token";

/** A launch token, an API key or an access token. Undefined: not signed in. */
export const token = signal<string | undefined>(sessionStorage.getItem(NAME) ?? undefined);

/** Why there is no token: `expired`: the server refused the one that there was. */
export const signedOut = signal<"user" | "expired" | undefined>(undefined);

// Tabs whose token is no longer valid take the one of a link that is opened in another tab.
const tabs = new BroadcastChannel(NAME);
tabs.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
  if (typeof data === "string" && token.value === undefined && signedOut.value !== "user") keep(data);
});

/** The link that the server prints has the token behind `#`, which browsers send to no server. It leaves the address at once. */
export function adoptToken(): void {
  const given = tokenIn(location.hash);
  if (given === undefined) return;
  signIn(given);
  history.replaceState(null, "", location.pathname + location.search);
}

/** The token of a link. Undefined: it has none. */
function tokenIn(link: string): string | undefined {
  const hash = link.includes("#") ? link.slice(link.indexOf("#") + 1) : "";
  return new URLSearchParams(hash).get("token") ?? undefined;
}

/** Kept by the tabs of this console only, until they are closed. A whole link is taken, too. */
export function signIn(secret: string): void {
  const given = tokenIn(secret) ?? secret;
  keep(given);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches pages of this origin only
  tabs.postMessage(given);
}

function keep(secret: string): void {
  sessionStorage.setItem(NAME, secret);
  signedOut.value = undefined;
  token.value = secret;
}

export function signOut(why: "user" | "expired" = "user"): void {
  sessionStorage.removeItem(NAME);
  signedOut.value = why;
  token.value = undefined;
}
