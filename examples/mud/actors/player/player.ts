import { actor, refuse } from "troupe";
import { accept, questOf, questOnOffer } from "../../rules/hero.ts";
import { clean, quoted } from "../../rules/words.ts";
import { itemOf, type World } from "../../world/world.ts";
import { NOTHING } from "../room/inputs.ts";
import { roomId } from "../room-id.ts";
import { argument, brought, fields, flag, maybe, number, text } from "../shape.ts";
import { sheet, ticket } from "../sheet.ts";
import { arriveAt, consumeItem, gainItem, lapseItem, recordDeed, releaseItem, sufferBlow } from "./handling.ts";
import { NAME, nameProblem, tidyName } from "./naming.ts";
import {
  answerThroughRoom,
  claimAnswered,
  claimName,
  isPassing,
  newPlayer,
  noteInRoom,
  type PlayerState,
  present,
  progress,
  provisionalName,
  retire,
  sendHome,
  shardOf,
  sheetOf,
  show,
} from "./player-state.ts";
import { gameHelp, playerState, questPrompt, startPrompt, TOPICS, worldMap } from "./player-views.ts";

const GENTLE = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
const LONGEST_TELLING = 500;

const ticketArgs = fields({ ticket });
const arrivalArgs = fields({ room: text, visit: number, back: text, call: text, text, monster: flag, revision: maybe(number) });
const claimed = fields({ name: text, call: maybe(text), granted: flag });
const relayed = fields({ call: text, name: text, found: flag, text });
const synced = fields({ call: text, text });

/** One actor per user: health, inventory, quests and where it is. Everything it does in a room goes through that room. */
export function playerKind(world: World) {
  return actor("player", {
    description: `A player of ${world.title}.`,
    per: "user",
    // A message that is under way when a player leaves the world must not bring the player back.
    autoStart: false,
    initial: ({ key, now: at, viewer }): PlayerState =>
      newPlayer(world, `player/${encodeURIComponent(key)}`, at, isPassing(viewer?.principal, viewer !== undefined)),
    links: {
      "": {
        kinds: ["room"],
        to: ({ state }) => roomId(Object.hasOwn(world.rooms, state.room) ? state.room : world.start),
      },
    },
    tools: {
      choose_name: {
        description: "Choose the name others know you by: only once, and one that nobody else has",
        input: NAME,
        annotations: { title: "Choose Name", ...GENTLE },
        enabled: ({ state: { chosen, name } }) => !chosen || `You are called ${name} already.`,
        run: (ctx) => {
          const name = tidyName(ctx.args.name);
          const problem = nameProblem(world, name);
          if (problem !== undefined) return refuse(problem, { code: "INVALID" });
          present(ctx, world);
          claimName(ctx, name, ctx.message.id);
          return ctx.later();
        },
      },
      quit: {
        description: "Leave the world for good: what you carry goes home, your name is free, and nobody can play this player again",
        input: NOTHING,
        annotations: { title: "Quit", ...GENTLE, destructiveHint: true },
        // A list that is the whole catalogue has it for all: those for whom it is not are told why.
        enabled: ({ state: { mortal }, viewer: { principal } }) => {
          if (principal === undefined) return "A player of a handle ends with end_player.";
          return mortal || "You come back as this player whenever you like: there is nothing to quit.";
        },
        confirm: ({ state }) => `Leave the world for good? ${state.name} will be no more.`,
        run: (ctx) => {
          retire(ctx, world);
          ctx.stop("left the world");
          return "You leave the world. Whatever you do next, you begin anew.";
        },
      },
      accept_quest: {
        description: "Accept the quest that is offered here",
        input: NOTHING,
        annotations: { title: "Accept Quest", ...GENTLE },
        enabled: ({ state }) =>
          questOnOffer(world, { room: state.room, quests: { ...state.quests } }) !== undefined || "There is no quest on offer here.",
        run: (ctx) => {
          const accepted = accept(world, ctx.state);
          if (accepted === undefined) return refuse("There is no quest on offer here.");
          present(ctx, world);
          answerThroughRoom(ctx, ctx.message.id, [accepted, ...progress(ctx, world)].join("\n"));
          return ctx.later();
        },
      },
      tell: {
        description: "Tell something to one player, wherever that player is",
        input: argument(
          {
            type: "object",
            properties: {
              to: { type: "string", description: "The player's name" },
              text: { type: "string", description: "One line", maxLength: LONGEST_TELLING },
            },
            required: ["to", "text"],
          },
          fields({ to: text, text }),
        ),
        annotations: { title: "Tell", ...GENTLE },
        run: (ctx) => {
          const said = clean(ctx.args.text, LONGEST_TELLING);
          const to = tidyName(ctx.args.to);
          if (said === "") return refuse("Write what.");
          present(ctx, world);
          ctx.send(shardOf(to), "relay", { to, by: ctx.state.name, text: said, call: ctx.message.id }, { replyAs: "relayed" });
          return ctx.later();
        },
      },
    },
    prompts: {
      start: {
        description: "Begin the game, or go on with it",
        arguments: [],
        view: ({ state }) => startPrompt(world, state),
      },
      quest_prompt: {
        description: "View available quests and quest status",
        arguments: [],
        enabled: ({ state }) =>
          questOf(world, { room: state.room, quests: { ...state.quests } }) !== undefined || "There is no quest here.",
        view: ({ state }) => questPrompt(world, state),
      },
      game_help: {
        description: "Get help for specific game aspects",
        arguments: [
          { name: "topic", description: "Help topic (combat, navigation, inventory, quests, players)", required: true },
          { name: "detail_level", description: "Level of detail (basic, advanced)", required: false },
        ],
        choices: { topic: () => TOPICS, detail_level: () => ["basic", "advanced"] },
        view: ({ args }) => gameHelp(args["topic"] ?? "", args["detail_level"]),
      },
    },
    resources: {
      player_state: {
        uri: "game://player/state",
        name: "Player State",
        description: "Current player status including location, inventory, and stats",
        mimeType: "application/json",
        view: ({ state, key }) => playerState(state, `player/${encodeURIComponent(key)}`),
      },
      world_map: {
        uri: "game://world/map",
        name: "World Map",
        description: "Available rooms and their connections",
        mimeType: "application/json",
        view: ({ state }) => worldMap(world, state),
      },
    },
    messages: {
      // The first call of a player may go to the room it is in: that needs somebody to ask.
      begin: { run: (ctx) => present(ctx, world) },
      // Ended by its holder, or soon to expire.
      end: {
        run: (ctx) => {
          retire(ctx, world);
          ctx.stop("left the world");
        },
      },
      admit: {
        input: fields({ room: text, ticket, act: text, arguments: text }),
        run: (ctx) => {
          present(ctx, world);
          const { room, ...call } = ctx.args;
          return { ...call, here: ctx.state.room === room, sheet: sheetOf(ctx.state) };
        },
      },
      // From another player's hands, `giver` comes back with the reply: its room wants it.
      gain: {
        input: fields({ ticket, giver: maybe(sheet) }),
        run: (ctx) => ({ ...gainItem(ctx, world, ctx.args.ticket), giver: ctx.args.giver }),
      },
      // Given, and taken back: the room had given up waiting, and has it again.
      lapse: { input: fields({ item: text }), run: (ctx) => lapseItem(ctx, world, ctx.args.item) },
      release: { input: ticketArgs, run: (ctx) => releaseItem(ctx, world, ctx.args.ticket) },
      consume: { input: ticketArgs, run: (ctx) => consumeItem(ctx, world, ctx.args.ticket) },
      struck: {
        input: fields({ ticket, damage: number, monster: text }),
        run: (ctx) => sufferBlow(ctx, world, ctx.args.ticket, ctx.args.damage, ctx.args.monster),
      },
      deed: {
        input: fields({ monster: text, ticket: maybe(ticket) }),
        run: (ctx) => recordDeed(ctx, world, ctx.args.monster, ctx.args.ticket),
      },
      monster: {
        input: fields({ present: flag, room: text }),
        run: ({ state, args }) => {
          if (args.room === state.room) state.monsterPresent = args.present;
        },
      },
      arrived: { input: arrivalArgs, run: (ctx) => arriveAt(ctx, world, ctx.args) },
      awake: { run: (ctx) => present(ctx, world) },
      told: {
        input: fields({ by: text, text }),
        run: (ctx) => noteInRoom(ctx, `${ctx.args.by} tells you: ${quoted(ctx.args.text)}`),
      },
      heard: { input: fields({ text }), run: (ctx) => noteInRoom(ctx, ctx.args.text) },
      idle: {
        run: (ctx) => {
          const { state } = ctx;
          const rest = state.shownAt + world.pace.idleMs - ctx.now;
          if (rest > 0) return ctx.wake("idle", { afterMs: rest, message: ctx.messages.idle() });
          const lost = state.items.splice(0);
          if (lost.length === 0) return;
          sendHome(ctx, world, lost, false);
          noteInRoom(
            ctx,
            `While you slept, what you carried went back to where it belongs: ${lost.map((item) => itemOf(world, item).name).join(", ")}.`,
          );
        },
      },
      synced: {
        input: brought(synced),
        run: (ctx) => {
          const { back } = ctx.args;
          if (back !== null) ctx.answer(back.call, { ok: back.text });
        },
      },
      relayed: {
        input: brought(relayed),
        run: (ctx) => {
          const { back } = ctx.args;
          if (back === null) return;
          if (back.found) answerThroughRoom(ctx, back.call, `You tell ${back.name}: ${quoted(back.text)}`);
          else ctx.answer(back.call, { refused: { code: "REFUSED", message: `Nobody is called ${quoted(back.name)}.` } });
        },
      },
      claimed: {
        input: brought(claimed),
        run: (ctx) => {
          const { back } = ctx.args;
          if (back === null) return;
          const { state } = ctx;
          claimAnswered(ctx, back.name);
          if (back.call === null) {
            // Somebody's alias begins with the same digits.
            if (back.granted || state.chosen || state.name !== back.name) return;
            state.name = provisionalName(ctx.self, 12);
            claimName(ctx, state.name, null);
            return noteInRoom(ctx, null);
          }
          if (!back.granted)
            return ctx.answer(back.call, {
              refused: { code: "TAKEN", message: `${quoted(back.name)} is somebody else's name: choose another.` },
            });
          if (state.chosen) {
            if (state.name !== back.name) ctx.send(shardOf(back.name), "free", { name: back.name });
            return ctx.answer(back.call, { refused: { code: "NOT_NOW", message: `You are called ${state.name} already.` } });
          }
          ctx.send(shardOf(state.name), "free", { name: state.name });
          state.name = back.name;
          state.chosen = true;
          show(ctx);
          answerThroughRoom(ctx, back.call, `You are called ${state.name} now.`);
        },
      },
    },
  });
}
