import type { TheaterEvent } from "../theater-stage.ts";
import type { Command, Push } from "../wire/index.ts";
import type { Answered } from "./answer.ts";
import { type Client, HeldPushes } from "./client.ts";
import type { House } from "./house.ts";

type Start = Extract<Command, { readonly is: "StartActor" }>;

/** Starts an actor. A client that subscribes at once receives all its events, including those before the subscription, as in Theater. */
export async function startActor(command: Start, client: Client, house: House): Promise<Answered> {
  const { stage, subscriptions } = house;
  const { manifest, initialState, parent, subscribe } = command;
  const followed = parent || subscribe;
  if (followed) subscriptions.reserve(client);
  let id: string;
  try {
    ({ id } = await stage.start({ manifest, ...(initialState === null ? {} : { initialState }) }));
  } catch (error) {
    if (followed) subscriptions.release(client);
    throw error;
  }
  const answer = { is: "ActorStarted", id } as const;
  if (!followed) return { answer };
  const interest = { events: subscribe, end: parent };
  // The actor was started as requested: that it may have ended since is not an error.
  const following = await subscriptions.follow(client, id, interest).catch((error: unknown) => {
    subscriptions.release(client);
    house.log?.("warning", {
      event: "follow-failed",
      transport: "theater",
      actor: id,
      message: error instanceof Error ? error.message : "",
    });
  });
  const before = subscribe ? await stage.chain(id).catch((): readonly TheaterEvent[] => []) : [];
  const held = following?.held ?? new HeldPushes(client);
  return { answer, announced: () => held.release((pushes) => withPast(id, before, pushes)) };
}

const keyOf = ({ hash }: TheaterEvent): string => Buffer.from(hash).toString("latin1");

/** The actor's earlier events, then the pushes that are not among them. */
function withPast(id: string, before: readonly TheaterEvent[], pushes: readonly Push[]): readonly Push[] {
  const there = new Set(before.map(keyOf));
  return [
    ...before.map((event) => ({ is: "ActorEvent", id, event }) as const),
    ...pushes.filter((push) => push.is !== "ActorEvent" || !there.has(keyOf(push.event))),
  ];
}
