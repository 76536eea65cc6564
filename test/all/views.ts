// One player as four views show it. Packets show states of declared capabilities only, which players are not.
import { until } from "../../src/testing/index.ts";
import type { Player } from "../clients.ts";
import { within } from "./whole.ts";

export const HERE = "game://room/current";
export const SERVICE = "mcp://hero/player/room/state/room_current";
export const STATE = "theater://actor/player%2Fada/state";

const read = async (client: Player, uri: string, path: string): Promise<unknown> => within(JSON.parse(await client.read(uri)), path);

/** Where ada is, as each of them says. */
export const places = async (client: Player): Promise<Readonly<Record<string, unknown>>> => ({
  room: await read(client, HERE, "id"),
  // It shows no states before it has heard that the player began.
  service: await read(client, SERVICE, "id").catch(() => "nowhere yet"),
  theater: await read(client, STATE, "room"),
  tool: within((await client.call("get_actor", { actor_id: "player/ada" })).structured, "state.room"),
});

/** A service hears of a change a moment after the reply; in the end all say the same. */
export const agree = (client: Player, room: string): Promise<void> =>
  until(`all views say ${room}`, async () => Object.values(await places(client)).every((one) => one === room));

/** What a client was told since then: URIs, and lists. */
export const notifiedSince = (client: Player, from: number): ReadonlySet<string> =>
  new Set(client.heard.slice(from).map(({ method, params }) => (typeof params["uri"] === "string" ? params["uri"] : method)));

/** How a move came to the player: the turn of the room it left, found by causes alone. */
export async function causeOf(client: Player, event: unknown): Promise<unknown> {
  let at = event;
  for (;;) {
    const cause = within(at, "data.message.cause");
    if (typeof cause !== "string") return at;
    at = JSON.parse(await client.read(`theater://event/${cause}`));
  }
}
