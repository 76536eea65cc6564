import { actor, refuse } from "troupe";
import type { ActorId } from "troupe/contract";
import { folded } from "../rules/text.ts";
import { fields, nullable, text } from "./message-shapes.ts";

interface Owner {
  player: ActorId;
  name: string;
}

export interface NamesState {
  /** By folded name. */
  owners: Record<string, Owner>;
}

/** The owners of names, in 256 actors by hash. An actor handles one claim at a time, so a name has one owner. */
export function namesKind() {
  return actor("names", {
    description: "The names players have claimed.",
    per: "link",
    autoStart: true,
    initial: (): NamesState => ({ owners: {} }),
    messages: {
      claim: {
        input: fields({ name: text, call: nullable(text) }),
        run: ({ state, args, from }) => {
          if (from === undefined) return refuse("Only players claim names.");
          const key = folded(args.name);
          const owner = Object.hasOwn(state.owners, key) ? state.owners[key] : undefined;
          const granted = owner === undefined || owner.player === from;
          if (granted) state.owners[key] = { player: from, name: args.name };
          return { ...args, granted };
        },
      },
      free: {
        input: fields({ name: text }),
        run: ({ state, args, from }) => {
          const key = folded(args.name);
          if (Object.hasOwn(state.owners, key) && state.owners[key]?.player === from) delete state.owners[key];
        },
      },
      owner: {
        input: fields({ name: text, call: text }),
        run: ({ state, args }) => {
          const key = folded(args.name);
          return { call: args.call, player: (Object.hasOwn(state.owners, key) ? state.owners[key]?.player : undefined) ?? null };
        },
      },
      relay: {
        input: fields({ to: text, by: text, text, call: text }),
        run: ({ state, args, send }) => {
          const key = folded(args.to);
          const owner = Object.hasOwn(state.owners, key) ? state.owners[key] : undefined;
          if (owner !== undefined) send(owner.player, "told", { by: args.by, text: args.text });
          return { call: args.call, name: owner?.name ?? args.to, found: owner !== undefined, text: args.text };
        },
      },
    },
  });
}
