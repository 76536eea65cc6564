import type { Json, PeerListener, Peers } from "../../core/contract/index.ts";

/** One message on its way from node to node. */
export interface Passing {
  readonly from: string;
  readonly to: string;
  readonly topic: string;
  readonly message: Json;
}

/** Nodes in one process, and what can happen between them. */
export interface Network {
  join(letter: string): Peers;
  /** What of it is lost from now on. */
  lose(which: (passing: Passing) => boolean): void;
  /** The node hears nothing, and nobody hears it; the others are told that one has gone. */
  cut(node: string): void;
  /** All hear that something may have been lost. */
  gap(): void;
  readonly passed: readonly Passing[];
}

interface Node {
  readonly listeners: Map<string, PeerListener>;
  readonly gaps: Set<() => void>;
}

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const nothing = (): boolean => false;

export function network(): Network {
  const nodes = new Map<string, Node>();
  const passed: Passing[] = [];
  let lost: (passing: Passing) => boolean = nothing;

  const pass = async (passing: Passing): Promise<Json | undefined> => {
    passed.push(passing);
    await nextRound();
    const node = nodes.get(passing.to);
    if (node === undefined || !nodes.has(passing.from) || lost(passing)) return undefined;
    const copy: Json = JSON.parse(JSON.stringify(passing.message));
    const reply = await node.listeners.get(passing.topic)?.(copy, passing.from);
    await nextRound();
    return nodes.has(passing.from) && nodes.has(passing.to) ? reply : undefined;
  };

  const gap = (): void => {
    for (const { gaps } of nodes.values()) for (const run of gaps) run();
  };

  return {
    passed,
    gap,
    lose(which) {
      lost = which;
    },
    cut(node) {
      nodes.delete(node);
      gap();
    },
    join(letter) {
      const self = letter.repeat(16);
      const node: Node = { listeners: new Map(), gaps: new Set() };
      nodes.set(self, node);
      return {
        self,
        tell(topic, message) {
          for (const to of nodes.keys()) if (to !== self) void pass({ from: self, to, topic, message });
        },
        ask: (to, topic, message) => pass({ from: self, to, topic, message }),
        on(topic, listen) {
          node.listeners.set(topic, listen);
          return () => void node.listeners.delete(topic);
        },
        onGap(run) {
          node.gaps.add(run);
          return () => void node.gaps.delete(run);
        },
        async [Symbol.asyncDispose]() {
          nodes.delete(self);
        },
      };
    },
  };
}
