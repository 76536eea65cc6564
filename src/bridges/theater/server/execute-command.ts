// Owns: what each command does. Does not own: the order of commands and the encoding of answers (connection.ts).
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, type Log, untilAborted } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type ChainPage, type EventQuery, type StageActor, StageError, type TheaterEvent, type TheaterStage } from "../stage.ts";
import type { ActorCommandName, Command } from "../wire/commands.ts";
import { hexOf } from "../wire/events.ts";
import type { Answer, Push } from "../wire/responses.ts";
import type { ClientChannels } from "./client-channels.ts";
import { type Client, DelayedPushes } from "./client.ts";
import { manifestConfig, metricsJson } from "./details-json.ts";
import type { TheaterLimits } from "./options.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** Shared by all connections of one server. */
export interface ServerContext {
  readonly stage: TheaterStage;
  readonly limits: TheaterLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
  readonly channels: ClientChannels;
  readonly subscriptions: Subscriptions;
}

/** Call `announced` once the answer has been sent. */
export interface CommandResult {
  readonly answer: Answer;
  readonly announced?: () => void;
}

const PAGE_SIZE = 1_000;

/** Executes a command. Throws a `StageError` for what the client can correct. */
export async function executeCommand(command: Command, client: Client, context: ServerContext): Promise<CommandResult> {
  if (command.type === "StartActor") return startActor(command, client, context);
  if (command.type === "SubscribeToActor") return subscribeClient(command.id, client, context);
  if (command.type === "OpenChannel") {
    if (command.with === "external") throw new StageError("InvalidRequest", 'Only actors take channels: open one with {"Actor": "<id>"}.');
    const { id, announced } = await context.channels.open(client, command.with.actor, command.initialMessage);
    return { answer: { type: "ChannelOpened", channelId: id, with: command.with }, announced };
  }
  return { answer: await executeSimple(command, client, context) };
}

type SimpleCommand = Exclude<Command, { readonly type: "StartActor" | "OpenChannel" }>;

async function executeSimple(command: SimpleCommand, client: Client, context: ServerContext): Promise<Answer> {
  const { stage, channels, subscriptions } = context;
  switch (command.type) {
    case "ListActors":
      return { type: "ActorList", actors: await listAllActors(context) };
    case "NewStore":
      return { type: "StoreCreated", storeId: await stage.newStore() };
    case "UnsubscribeFromActor":
      subscriptions.end(command.subscriptionId);
      return { type: "Unsubscribed", id: command.id };
    case "GetActorEvents":
      return { type: "ActorEvents", id: command.id, ...(await chainEvents(stage, command.id, command.query)) };
    case "SendActorMessage":
      await stage.send(command.id, command.data);
      return { type: "SentMessage", id: command.id };
    case "RequestActorMessage":
      return { type: "RequestedMessage", id: command.id, message: await requestActor(command.id, command.data, client, context) };
    case "UpdateActorComponent":
      await stage.update(command.id, command.component);
      return { type: "ActorComponentUpdated", id: command.id };
    case "SendOnChannel":
      await channels.send(command.channelId, command.message);
      return { type: "MessageSent", channelId: command.channelId };
    case "CloseChannel":
      await channels.close(command.channelId, client);
      return { type: "ChannelClosed", channelId: command.channelId };
    default:
      return executeActorCommand(command.type, command.id, context);
  }
}

async function executeActorCommand(type: ActorCommandName, id: string, { stage, clock }: ServerContext): Promise<Answer> {
  switch (type) {
    case "StopActor":
      await stage.stop(id);
      return { type: "ActorStopped", id };
    case "TerminateActor":
      await stage.terminate(id);
      return { type: "ActorStopped", id };
    case "RestartActor":
      await stage.restart(id);
      return { type: "Restarted", id };
    case "GetActorState":
      return { type: "ActorState", id, state: (await stage.state(id)) ?? null };
    case "GetActorManifest": {
      const details = await stage.actor(id);
      const { manifest: origin } = details;
      return { type: "ActorManifest", id, manifest: manifestConfig(details), ...omitUndefined({ origin }) };
    }
    case "GetActorMetrics":
      return { type: "ActorMetrics", id, metrics: metricsJson((await stage.actor(id)).metrics, clock.now()) };
    default:
      return { type: "ActorStatus", id, status: (await stage.actor(id)).status };
  }
}

const chainEvents = async (
  stage: TheaterStage,
  id: string,
  query: EventQuery | undefined,
): Promise<ChainPage | Pick<ChainPage, "events">> => (query === undefined ? { events: await stage.chain(id) } : stage.chainPage(id, query));

async function subscribeClient(id: string, client: Client, { subscriptions }: ServerContext): Promise<CommandResult> {
  subscriptions.reserve(client);
  const { id: subscriptionId, delayed } = await subscriptions.follow(client, id, { events: true, end: false });
  return { answer: { type: "Subscribed", id, subscriptionId }, announced: () => delayed.release() };
}

/** All actors at once, since the protocol has no pages. */
async function listAllActors({ stage, limits }: ServerContext): Promise<readonly StageActor[]> {
  const actors: StageActor[] = [];
  for (;;) {
    const page = await stage.list(PAGE_SIZE, actors.at(-1)?.id);
    actors.push(...page);
    if (page.length < PAGE_SIZE) return actors;
    await nextTurn();
    if (actors.length > limits.listed)
      throw new StageError(
        "RuntimeError",
        `There are more than ${limits.listed} actors, and this protocol lists all at once: list them by pages over MCP.`,
      );
  }
}

/** Sends a request to an actor. Ends with the client, and after a time limit, since it blocks its connection. */
async function requestActor(id: string, data: Uint8Array, client: Client, { stage, clock, limits }: ServerContext): Promise<Uint8Array> {
  const controller = new AbortController();
  const { signal } = controller;
  const onDisconnected = (): void => controller.abort(new StageError("CommunicationError", "The client is gone."));
  const undo = clock.after(limits.requestMs, () =>
    controller.abort(
      new StageError("Timeout", `The actor did not answer within ${limits.requestMs} ms: it may still, and nobody is told.`),
    ),
  );
  client.disconnected.addEventListener("abort", onDisconnected);
  try {
    if (client.disconnected.aborted) onDisconnected();
    return await untilAborted(signal, () => stage.request(id, data, signal));
  } finally {
    undo();
    client.disconnected.removeEventListener("abort", onDisconnected);
  }
}

type StartCommand = Extract<Command, { readonly type: "StartActor" }>;

/** Starts an actor. A client that subscribes at once receives all its events, including those before the subscription, as in Theater. */
async function startActor(command: StartCommand, client: Client, context: ServerContext): Promise<CommandResult> {
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
  const answer = { type: "ActorStarted", id } as const;
  if (!isFollowed) return { answer };
  const interest = { events: subscribe, end: parent };
  // The actor was started as requested: that it may have ended since is not an error.
  const subscription = await subscriptions.follow(client, id, interest).catch((error: unknown) => {
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

/** The actor's earlier events, then the pushes that are not among them. */
function withEarlierEvents(id: string, earlier: readonly TheaterEvent[], pushes: readonly Push[]): readonly Push[] {
  const known = new Set(earlier.map(({ hash }) => hexOf(hash)));
  return [
    ...earlier.map((event) => ({ type: "ActorEvent", id, event }) as const),
    ...pushes.filter((push) => push.type !== "ActorEvent" || !known.has(hexOf(push.event.hash))),
  ];
}
