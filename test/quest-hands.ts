// What an official client gives the careful player of the MUD, and the games it plays.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadWorld, type World, worlds } from "../examples/mud/index.ts";
import { type ClientHands, playAsClient } from "../examples/mud/play/play-as-client.ts";
import type { Player, Told } from "./clients.ts";
import { at } from "./wire.ts";

const [keepFile = "", saltmarshFile = ""] = worlds;

/** What `npm start` serves. */
export const keep = { module: "examples/mud", world: loadWorld(keepFile) };
/** A world by its file. */
export const saltmarsh = { module: saltmarshFile, world: loadWorld(saltmarshFile) };

/** A folder that goes with its block. */
export const folder = (): Disposable & { readonly path: string } => {
  const path = mkdtempSync(join(tmpdir(), "troupe-e2e-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** What a tool told; fails where it was an error. */
export const told = ({ isError, text }: Told, what: string): string => {
  assert.equal(isError, false, `${what}: ${text}`);
  return text;
};

/** Calls and reads as they are. */
export const plain = (player: Player): ClientHands => ({
  call: async (tool, args) => told(await player.call(tool, args), tool),
  read: (uri) => player.read(uri),
});

/** Starts a player and gives its handle with everything. */
export const byHandle = async (player: Player): Promise<ClientHands> => {
  const handle = at((await player.call("start_player")).structured, "handle");
  assert.ok(typeof handle === "string" && handle.length > 20);
  return {
    call: async (tool, args) => told(await player.call(tool, { ...args, handle }), tool),
    read: (uri) => player.read(uri.replace("game://", `game://${handle}/`)),
  };
};

/** Plays to the ending. */
export const finishes = async (world: World, hands: ClientHands, who: string): Promise<void> => {
  const last = await playAsClient(world, hands);
  assert.ok(last.includes(world.ending.text), `${who} reached the ending: ${last}`);
};
