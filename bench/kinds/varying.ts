import { actor } from "troupe/actor";
import * as z from "zod";

interface Count {
  count: number;
}

/** A counter with a tool whose availability depends on the state, as in most actors. */
const varying = (kind: string, add: string) =>
  actor(kind, {
    description: "A counter.",
    persistence: "memory",
    state: z.object({ count: z.int().default(0) }),
    tools: {
      [add]: {
        description: "Adds one.",
        run({ state }: { readonly state: Count }) {
          state.count += 1;
          return state.count;
        },
      },
      [`${add}_more`]: {
        description: "Adds a hundred.",
        enabled: ({ state: { count } }: { readonly state: Count }) =>
          count < Number.MAX_SAFE_INTEGER - 100 || "The counter is at its maximum.",
        run({ state }: { readonly state: Count }) {
          state.count += 100;
          return state.count;
        },
      },
    },
    resources: {
      [kind]: { uri: `${kind}://{alias}`, description: "The count.", view: ({ state }: { readonly state: Count }) => state },
    },
  });

export default [varying("first", "add"), ...Array.from({ length: 8 }, (_, n) => varying(`other${n}`, `add${n}`))];
