// Connects official clients to the scripted player of the MUD, which plays worlds to their ending.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadWorld, type World, worlds } from "../examples/mud/index.ts";
import { type ClientHands, playAsClient } from "../examples/mud/play/play-as-client.ts";
import type { Player, ToolOutcome } from "./clients.ts";
import { at } from "./wire.ts";

const [keepFile = "", saltmarshFile = ""] = worlds;

/** The world that `npm start` serves. */
export const keep = { module: "examples/mud", world: loadWorld(keepFile) };
/** A world served from its file. */
export const saltmarsh = { module: saltmarshFile, world: loadWorld(saltmarshFile) };

/** A temporary folder that is removed with its block. */
export const folder = (): Disposable & { readonly path: string } => {
  const path = mkdtempSync(join(tmpdir(), "troupe-e2e-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** The text of a tool result; fails if it is an error. */
export const textOf = ({ isError, text }: ToolOutcome, what: string): string => {
  assert.equal(isError, false, `${what}: ${text}`);
  return text;
};

/** Calls and reads without a handle. */
export const withoutHandle = (player: Player): ClientHands => ({
  call: async (tool, args) => textOf(await player.call(tool, args), tool),
  read: (uri) => player.read(uri),
});

/** Starts a player and passes its handle with every call and read. */
export const withHandle = async (player: Player): Promise<ClientHands> => {
  const handle = at((await player.call("start_player")).structured, "handle");
  assert.ok(typeof handle === "string" && handle.length > 20);
  return {
    call: async (tool, args) => textOf(await player.call(tool, { ...args, handle }), tool),
    read: (uri) => player.read(uri.replace("game://", `game://${handle}/`)),
  };
};

/** Plays to the ending. */
export const playToEnding = async (world: World, hands: ClientHands, who: string): Promise<void> => {
  const last = await playAsClient(world, hands);
  assert.ok(last.includes(world.ending.text), `${who} reached the ending: ${last}`);
};
