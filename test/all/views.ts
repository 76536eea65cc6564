// One player in four views. Packets expose states of declared capabilities only, which players are not.
import { until } from "../../src/testing/index.ts";
import type { Player } from "../clients.ts";
import { within } from "./running-example.ts";

export const HERE = "game://room/current";
export const SERVICE = "mcp://hero/player/room/state/room_current";
export const STATE = "theater://actor/player%2Fada/state";

const read = async (client: Player, uri: string, path: string): Promise<unknown> => within(JSON.parse(await client.read(uri)), path);

/** The room of ada in each view. */
export const places = async (client: Player): Promise<Readonly<Record<string, unknown>>> => ({
  room: await read(client, HERE, "id"),
  // It has no states before it is notified that the player started.
  service: await read(client, SERVICE, "id").catch(() => "not started"),
  theater: await read(client, STATE, "room"),
  tool: within((await client.call("get_actor", { actor_id: "player/ada" })).structured, "state.room"),
});

/** Waits until all views agree, since a service is notified shortly after the reply. */
export const agree = (client: Player, room: string): Promise<void> =>
  until(`all views say ${room}`, async () => Object.values(await places(client)).every((one) => one === room));

/** The URIs and lists of a client's notifications since then. */
export const notifiedSince = (client: Player, from: number): ReadonlySet<string> =>
  new Set(client.heard.slice(from).map(({ method, params }) => (typeof params["uri"] === "string" ? params["uri"] : method)));

/** The event that started a move, found by following causes. */
export async function causeOf(client: Player, event: unknown): Promise<unknown> {
  let at = event;
  for (;;) {
    const cause = within(at, "data.message.cause");
    if (typeof cause !== "string") return at;
    at = JSON.parse(await client.read(`theater://event/${cause}`));
  }
}
