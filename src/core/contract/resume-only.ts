// Owns: which web requests may only resume a reply, as their host has decided. Does not own: what that means for a GET (mcp/gateway).

const marked = new WeakSet<object>();

/** Marks a GET whose host opens no standalone streams: only what is left of a reply is sent. */
export function markResumeOnly(request: object): void {
  marked.add(request);
}

export const isResumeOnly = (request: object): boolean => marked.has(request);
