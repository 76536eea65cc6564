import type { Peers } from "../../../core/contract/index.ts";

const undo = (): void => undefined;

/** Nodes that share the two stores and cannot reach each other: none is told anything, and none answers. */
export function unreachedPeers(self: string): Peers {
  return {
    self,
    tell: () => undefined,
    ask: async () => undefined,
    on: () => undo,
    onGap: () => undo,
    async [Symbol.asyncDispose]() {},
  };
}
