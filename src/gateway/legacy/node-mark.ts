import type { Settings } from "../options.ts";

/** A name for what lives in one process only; where there are several, it says in which, so that the others ask that one and no other. */
export function nodeMark({ peers, entropy }: Settings): string {
  return peers === undefined ? entropy.hex(8) : `${peers.self}-${entropy.hex(8)}`;
}

/** The node in a name that a client sent: anybody may have written it. Undefined: there is none. */
export function nodeIn(name: string): string | undefined {
  return /^(?:ask-)?([a-z0-9]{16})-[0-9a-f]{16}$/.exec(name)?.[1];
}
