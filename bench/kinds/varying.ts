import { actor } from "troupe/actor";
import * as z from "zod";

interface Held {
  count: number;
}

/** A counter one of whose tools is on or off by what it holds, as of nearly all that is worth an actor. */
const varying = (kind: string, add: string) =>
  actor(kind, {
    description: "A counter.",
    persistence: "memory",
    state: z.object({ count: z.int().default(0) }),
    tools: {
      [add]: {
        description: "Adds one.",
        run({ state }: { readonly state: Held }) {
          state.count += 1;
          return state.count;
        },
      },
      [`${add}_more`]: {
        description: "Adds a hundred.",
        enabled: ({ state: { count } }: { readonly state: Held }) => count < Number.MAX_SAFE_INTEGER - 100 || "It holds as much as it can.",
        run({ state }: { readonly state: Held }) {
          state.count += 100;
          return state.count;
        },
      },
    },
    resources: {
      [kind]: { uri: `${kind}://{alias}`, description: "What it holds.", view: ({ state }: { readonly state: Held }) => state },
    },
  });

export default [varying("first", "add"), ...Array.from({ length: 8 }, (_, n) => varying(`other${n}`, `add${n}`))];
