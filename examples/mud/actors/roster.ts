import { actor } from "troupe";
import { NOTHING } from "./room/inputs.ts";
import { shardOf } from "./player/player-state.ts";
import { replyArguments, fields, nullable, text } from "./message-shapes.ts";

export interface RosterState {
  /** By alias. */
  players: Record<string, { name: string; at: number }>;
  /** Whether the timer that removes absent players is set. */
  watch: boolean;
}

const ABSENT_MS = 30 * 60_000;
const MAX_PLAYERS = 2_000;
const MAX_LISTED = 100;

/** The list of active players in the whole world. */
export function rosterKind() {
  return actor("roster", {
    description: "Who is about.",
    per: "link",
    autoStart: true,
    initial: (): RosterState => ({ players: {}, watch: false }),
    tools: {
      who: {
        description: "List the players who are about, all over the world",
        input: NOTHING,
        annotations: { title: "Who", readOnlyHint: true, openWorldHint: false },
        view: ({ state }) => {
          const names = Object.values(state.players)
            .map(({ name }) => name)
            .toSorted((a, b) => a.localeCompare(b));
          if (names.length === 0) return "Nobody else is about.";
          const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
          return `About are: ${names.slice(0, MAX_LISTED).join(", ")}${more}.`;
        },
      },
    },
    messages: {
      // For operators: finds the player of a name.
      find: {
        input: fields({ name: text }),
        run: (ctx) => {
          ctx.send(shardOf(ctx.args.name), "owner", { name: ctx.args.name, call: ctx.message.id }, { replyAs: "found" });
          return ctx.later();
        },
      },
      found: {
        input: replyArguments(fields({ call: text, player: nullable(text) })),
        run: ({ args: { value }, answer }) => {
          if (value === null) return;
          if (value.player === null)
            answer(value.call, { refused: { code: "NOT_FOUND", message: "Nobody is called that: read the name again." } });
          else answer(value.call, { ok: value.player });
        },
      },
      seen: {
        input: fields({ alias: text, name: text }),
        run: ({ state, args, now, wake, messages }) => {
          state.players[args.alias] = { name: args.name, at: now };
          const all = Object.entries(state.players);
          if (all.length > MAX_PLAYERS) delete state.players[all.reduce((a, b) => (a[1].at <= b[1].at ? a : b))[0]];
          if (state.watch) return;
          state.watch = true;
          wake("sweep", { afterMs: ABSENT_MS / 2, message: messages.sweep() });
        },
      },
      gone: {
        input: fields({ alias: text }),
        run: ({ state, args }) => {
          delete state.players[args.alias];
        },
      },
      sweep: {
        run: ({ state, now, wake, messages }) => {
          for (const [alias, { at }] of Object.entries(state.players)) if (now - at >= ABSENT_MS) delete state.players[alias];
          state.watch = Object.keys(state.players).length > 0;
          if (state.watch) wake("sweep", { afterMs: ABSENT_MS / 2, message: messages.sweep() });
        },
      },
    },
  });
}
