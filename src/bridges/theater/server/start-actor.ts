import type { TheaterEvent } from "../theater-stage.ts";
import type { Command, Push } from "../wire/index.ts";
import type { CommandResult } from "./answer.ts";
import { type Client, DelayedPushes } from "./client.ts";
import type { ServerContext } from "./house.ts";

type StartCommand = Extract<Command, { readonly is: "StartActor" }>;

/** Starts an actor. A client that subscribes at once receives all its events, including those before the subscription, as in Theater. */
export async function startActor(command: StartCommand, client: Client, context: ServerContext): Promise<CommandResult> {
  const { stage, subscriptions } = context;
  const { manifest, initialState, parent, subscribe } = command;
  const isFollowed = parent || subscribe;
  if (isFollowed) subscriptions.reserve(client);
  let id: string;
  try {
    ({ id } = await stage.start({ manifest, ...(initialState === null ? {} : { initialState }) }));
  } catch (error) {
    if (isFollowed) subscriptions.release(client);
    throw error;
  }
  const answer = { is: "ActorStarted", id } as const;
  if (!isFollowed) return { answer };
  const interest = { events: subscribe, end: parent };
  // The actor was started as requested: that it may have ended since is not an error.
  const subscription = await subscriptions.follow(client, id, interest).catch((error: unknown) => {
    subscriptions.release(client);
    context.log?.("warning", {
      event: "follow-failed",
      transport: "theater",
      actor: id,
      message: error instanceof Error ? error.message : "",
    });
  });
  const earlier = subscribe ? await stage.chain(id).catch((): readonly TheaterEvent[] => []) : [];
  const delayed = subscription?.delayed ?? new DelayedPushes(client);
  return { answer, announced: () => delayed.release((pushes) => withEarlierEvents(id, earlier, pushes)) };
}

const hashKey = ({ hash }: TheaterEvent): string => Buffer.from(hash).toString("latin1");

/** The actor's earlier events, then the pushes that are not among them. */
function withEarlierEvents(id: string, earlier: readonly TheaterEvent[], pushes: readonly Push[]): readonly Push[] {
  const known = new Set(earlier.map(hashKey));
  return [
    ...earlier.map((event) => ({ is: "ActorEvent", id, event }) as const),
    ...pushes.filter((push) => push.is !== "ActorEvent" || !known.has(hashKey(push.event))),
  ];
}
