import { type EventQuery, type StageActor, StageError } from "../stage.ts";
import type { ChainPage, TheaterStage } from "../theater-stage.ts";
import type { Answer, Command, ActorCommandName } from "../wire/index.ts";
import type { Client } from "./client.ts";
import type { ServerContext } from "./house.ts";
import { manifestConfig } from "./manifest-config.ts";
import { metricsJson } from "./metrics-json.ts";
import { nextTurn } from "./next-turn.ts";
import { requestActor } from "./request.ts";
import { startActor } from "./start-actor.ts";

/** Call `announced` once the answer has been sent. */
export interface CommandResult {
  readonly answer: Answer;
  readonly announced?: () => void;
}

const PAGE_SIZE = 1_000;

/** Executes a command. Throws a `StageError` for what the client can correct. */
export async function executeCommand(command: Command, client: Client, context: ServerContext): Promise<CommandResult> {
  if (command.is === "StartActor") return startActor(command, client, context);
  if (command.is === "SubscribeToActor") return subscribe(command.id, client, context);
  if (command.is === "OpenChannel") {
    if (command.with === "external") throw new StageError("InvalidRequest", 'Only actors take channels: open one with {"Actor": "<id>"}.');
    const { id, announced } = await context.channels.open(client, command.with.actor, command.initialMessage);
    return { answer: { is: "ChannelOpened", channelId: id, with: command.with }, announced };
  }
  return { answer: await executeSimple(command, client, context) };
}

type SimpleCommand = Exclude<Command, { readonly is: "StartActor" | "OpenChannel" }>;

async function executeSimple(command: SimpleCommand, client: Client, context: ServerContext): Promise<Answer> {
  const { stage, channels, subscriptions } = context;
  switch (command.is) {
    case "ListActors":
      return { is: "ActorList", actors: await listAllActors(context) };
    case "NewStore":
      return { is: "StoreCreated", storeId: await stage.newStore() };
    case "UnsubscribeFromActor":
      subscriptions.end(command.subscriptionId);
      return { is: "Unsubscribed", id: command.id };
    case "GetActorEvents":
      return { is: "ActorEvents", id: command.id, ...(await chainEvents(stage, command.id, command.query)) };
    case "SendActorMessage":
      await stage.send(command.id, command.data);
      return { is: "SentMessage", id: command.id };
    case "RequestActorMessage":
      return { is: "RequestedMessage", id: command.id, message: await requestActor(command.id, command.data, client, context) };
    case "UpdateActorComponent":
      await stage.update(command.id, command.component);
      return { is: "ActorComponentUpdated", id: command.id };
    case "SendOnChannel":
      await channels.send(command.channelId, command.message);
      return { is: "MessageSent", channelId: command.channelId };
    case "CloseChannel":
      await channels.close(command.channelId, client);
      return { is: "ChannelClosed", channelId: command.channelId };
    default:
      return executeActorCommand(command.is, command.id, context);
  }
}

async function executeActorCommand(is: ActorCommandName, id: string, { stage, clock }: ServerContext): Promise<Answer> {
  switch (is) {
    case "StopActor":
      await stage.stop(id);
      return { is: "ActorStopped", id };
    case "TerminateActor":
      await stage.terminate(id);
      return { is: "ActorStopped", id };
    case "RestartActor":
      await stage.restart(id);
      return { is: "Restarted", id };
    case "GetActorState":
      return { is: "ActorState", id, state: (await stage.state(id)) ?? null };
    case "GetActorManifest": {
      const details = await stage.actor(id);
      const { manifest: origin } = details;
      return { is: "ActorManifest", id, manifest: manifestConfig(details), ...(origin === undefined ? {} : { origin }) };
    }
    case "GetActorMetrics":
      return { is: "ActorMetrics", id, metrics: metricsJson((await stage.actor(id)).metrics, clock.now()) };
    default:
      return { is: "ActorStatus", id, status: (await stage.actor(id)).status };
  }
}

const chainEvents = async (stage: TheaterStage, id: string, query: EventQuery | undefined): Promise<ChainPage | Pick<ChainPage, "events">> =>
  query === undefined ? { events: await stage.chain(id) } : stage.chainPage(id, query);

async function subscribe(id: string, client: Client, { subscriptions }: ServerContext): Promise<CommandResult> {
  subscriptions.reserve(client);
  try {
    const { id: subscriptionId, delayed: held } = await subscriptions.follow(client, id, { events: true, end: false });
    return { answer: { is: "Subscribed", id, subscriptionId }, announced: () => held.release() };
  } catch (error) {
    subscriptions.release(client);
    throw error;
  }
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
