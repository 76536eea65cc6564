import { actor, refuse } from "troupe";
import { accept, questOf, questOnOffer } from "../../rules/hero.ts";
import { clean, quoted } from "../../rules/text.ts";
import { itemOf, type World } from "../../world/world.ts";
import { NOTHING } from "../room/inputs.ts";
import { roomId } from "../room-id.ts";
import { argument, replyArguments, fields, flag, nullable, number, text } from "../message-shapes.ts";
import { sheet, ticket } from "../sheet.ts";
import { arriveAt, consumeItem, gainItem, lapseItem, recordDeed, releaseItem, sufferBlow } from "./room-requests.ts";
import { NAME, nameProblem, tidyName } from "./naming.ts";
import {
  answerThroughRoom,
  settleClaim,
  claimName,
  isTemporary,
  newPlayer,
  noteInRoom,
  type PlayerState,
  markActive,
  advanceQuests,
  provisionalName,
  leaveWorld,
  sendHome,
  shardOf,
  sheetOf,
  updateRoster,
} from "./player-state.ts";
import { gameHelp, playerState, questPrompt, startPrompt, TOPICS, worldMap } from "./player-views.ts";

const GENTLE = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
const MAX_TELLING_LENGTH = 500;

const ticketArgs = fields({ ticket });
const arrivalArgs = fields({ room: text, visit: number, back: text, call: text, text, monster: flag, revision: nullable(number) });
const claimed = fields({ name: text, call: nullable(text), granted: flag });
const relayed = fields({ call: text, name: text, found: flag, text });
const synced = fields({ call: text, text });

/** One actor per user: health, inventory, quests and location. All acts in a room go through that room. */
export function playerKind(world: World) {
  return actor("player", {
    description: `A player of ${world.title}.`,
    per: "user",
    // A message to a player that has left the world must not start it again.
    autoStart: false,
    initial: ({ key, now: at, viewer }): PlayerState =>
      newPlayer(world, `player/${encodeURIComponent(key)}`, at, isTemporary(viewer?.principal, viewer !== undefined)),
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
          markActive(ctx, world);
          claimName(ctx, name, ctx.message.id);
          return ctx.later();
        },
      },
      quit: {
        description: "Leave the world for good: what you carry goes home, your name is free, and nobody can play this player again",
        input: NOTHING,
        annotations: { title: "Quit", ...GENTLE, destructiveHint: true },
        // A static list contains the tool for all players, so the refusal has a reason.
        enabled: ({ state: { mortal }, viewer: { principal } }) => {
          if (principal === undefined) return "A player of a handle ends with end_player.";
          return mortal || "You come back as this player whenever you like: there is nothing to quit.";
        },
        confirm: ({ state }) => `Leave the world for good? ${state.name} will be no more.`,
        run: (ctx) => {
          leaveWorld(ctx, world);
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
          markActive(ctx, world);
          answerThroughRoom(ctx, ctx.message.id, [accepted, ...advanceQuests(ctx, world)].join("\n"));
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
              text: { type: "string", description: "One line", maxLength: MAX_TELLING_LENGTH },
            },
            required: ["to", "text"],
          },
          fields({ to: text, text }),
        ),
        annotations: { title: "Tell", ...GENTLE },
        run: (ctx) => {
          const message = clean(ctx.args.text, MAX_TELLING_LENGTH);
          const to = tidyName(ctx.args.to);
          if (message === "") return refuse("Write what.");
          markActive(ctx, world);
          ctx.send(shardOf(to), "relay", { to, by: ctx.state.name, text: message, call: ctx.message.id }, { replyAs: "relayed" });
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
      // The first call of a player may go to its room, which asks the player. So it must be started.
      begin: { run: (ctx) => markActive(ctx, world) },
      // Sent by the holder of a handle, and before a handle expires.
      end: {
        run: (ctx) => {
          leaveWorld(ctx, world);
          ctx.stop("left the world");
        },
      },
      admit: {
        input: fields({ room: text, ticket, act: text, arguments: text }),
        run: (ctx) => {
          markActive(ctx, world);
          const { room, ...call } = ctx.args;
          return { ...call, here: ctx.state.room === room, sheet: sheetOf(ctx.state) };
        },
      },
      // For an item of another player, the reply returns the sheet of the giver to the room.
      gain: {
        input: fields({ ticket, giver: nullable(sheet) }),
        run: (ctx) => ({ ...gainItem(ctx, world, ctx.args.ticket), giver: ctx.args.giver }),
      },
      // The room had given up on `gain` and has taken the item back.
      lapse: { input: fields({ item: text }), run: (ctx) => lapseItem(ctx, world, ctx.args.item) },
      release: { input: ticketArgs, run: (ctx) => releaseItem(ctx, world, ctx.args.ticket) },
      consume: { input: ticketArgs, run: (ctx) => consumeItem(ctx, world, ctx.args.ticket) },
      struck: {
        input: fields({ ticket, damage: number, monster: text }),
        run: (ctx) => sufferBlow(ctx, world, ctx.args.ticket, ctx.args.damage, ctx.args.monster),
      },
      deed: {
        input: fields({ monster: text, ticket: nullable(ticket) }),
        run: (ctx) => recordDeed(ctx, world, ctx.args.monster, ctx.args.ticket),
      },
      monster: {
        input: fields({ present: flag, room: text }),
        run: ({ state, args }) => {
          if (args.room === state.room) state.monsterPresent = args.present;
        },
      },
      arrived: { input: arrivalArgs, run: (ctx) => arriveAt(ctx, world, ctx.args) },
      awake: { run: (ctx) => markActive(ctx, world) },
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
        input: replyArguments(synced),
        run: (ctx) => {
          const { value } = ctx.args;
          if (value !== null) ctx.answer(value.call, { ok: value.text });
        },
      },
      relayed: {
        input: replyArguments(relayed),
        run: (ctx) => {
          const { value } = ctx.args;
          if (value === null) return;
          if (value.found) answerThroughRoom(ctx, value.call, `You tell ${value.name}: ${quoted(value.text)}`);
          else ctx.answer(value.call, { refused: { code: "REFUSED", message: `Nobody is called ${quoted(value.name)}.` } });
        },
      },
      claimed: {
        input: replyArguments(claimed),
        run: (ctx) => {
          const { value } = ctx.args;
          if (value === null) return;
          const { state } = ctx;
          settleClaim(ctx, value.name);
          if (value.call === null) {
            // Another player's alias begins with the same digits.
            if (value.granted || state.chosen || state.name !== value.name) return;
            state.name = provisionalName(ctx.self, 12);
            claimName(ctx, state.name, null);
            return noteInRoom(ctx, null);
          }
          if (!value.granted)
            return ctx.answer(value.call, {
              refused: { code: "TAKEN", message: `${quoted(value.name)} is somebody else's name: choose another.` },
            });
          if (state.chosen) {
            if (state.name !== value.name) ctx.send(shardOf(value.name), "free", { name: value.name });
            return ctx.answer(value.call, { refused: { code: "NOT_NOW", message: `You are called ${state.name} already.` } });
          }
          ctx.send(shardOf(state.name), "free", { name: state.name });
          state.name = value.name;
          state.chosen = true;
          updateRoster(ctx);
          answerThroughRoom(ctx, value.call, `You are called ${state.name} now.`);
        },
      },
    },
  });
}
