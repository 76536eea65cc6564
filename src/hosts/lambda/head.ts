/** Of the connection; how long a body is, the platform finds out when it has decoded it. */
const DROPPED = new Set(["connection", "content-length", "keep-alive", "set-cookie", "transfer-encoding"]);

export interface ResponseHead {
  /** One value each. */
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
}

export function headOf({ headers }: Response): ResponseHead {
  const kept = Array.from(headers).filter(([name]) => !DROPPED.has(name));
  return { headers: Object.fromEntries(kept), cookies: headers.getSetCookie() };
}
