/** What a manifest's allow-list lets a guest ask for. */
const DEFAULT_PORT: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * An entry is a host (`api.example.org`, with a port `api.example.org:8443`; `*.example.org`: all below it), the beginning of
 * a URL (`https://api.example.org/v1/`), or `*`: every host. A host without a port is meant with its scheme's own.
 */
export function isAllowed(url: URL, allowed: readonly string[]): boolean {
  return allowed.some((entry) => entry === "*" || (entry.includes("://") ? isBelow(url, entry) : isHost(url, entry)));
}

function isHost(url: URL, entry: string): boolean {
  const wanted = entry.toLowerCase();
  const port = url.port === "" ? DEFAULT_PORT[url.protocol] : url.port;
  const hasPort = /:\d+$/u.test(wanted) && !wanted.endsWith("]");
  const host = hasPort ? wanted.slice(0, wanted.lastIndexOf(":")) : wanted;
  if (hasPort ? wanted.slice(host.length + 1) !== port : url.port !== "") return false;
  return host.startsWith("*.") ? url.hostname.endsWith(host.slice(1)) : url.hostname === host;
}

/** By whole segments: `https://a.example/v1` is no beginning of `https://a.example/v10`, nor of `https://a.example.evil.test/`. */
function isBelow(url: URL, entry: string): boolean {
  if (!URL.canParse(entry)) return false;
  const prefix = new URL(entry);
  if (prefix.protocol !== url.protocol || prefix.host !== url.host) return false;
  const { pathname } = prefix;
  return url.pathname === pathname || url.pathname.startsWith(pathname.endsWith("/") ? pathname : `${pathname}/`);
}
