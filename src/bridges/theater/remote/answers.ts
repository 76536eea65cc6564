import type { Answer, Command, Push, Response } from "../wire/index.ts";

/** The answer to each command that succeeds. */
const ANSWER_TO = {
  StartActor: "ActorStarted",
  StopActor: "ActorStopped",
  TerminateActor: "ActorStopped",
  ListActors: "ActorList",
  SubscribeToActor: "Subscribed",
  UnsubscribeFromActor: "Unsubscribed",
  SendActorMessage: "SentMessage",
  RequestActorMessage: "RequestedMessage",
  GetActorManifest: "ActorManifest",
  GetActorStatus: "ActorStatus",
  RestartActor: "Restarted",
  GetActorState: "ActorState",
  GetActorEvents: "ActorEvents",
  GetActorMetrics: "ActorMetrics",
  UpdateActorComponent: "ActorComponentUpdated",
  OpenChannel: "ChannelOpened",
  SendOnChannel: "MessageSent",
  CloseChannel: "ChannelClosed",
  NewStore: "StoreCreated",
} as const satisfies Record<Command["is"], Answer["is"]>;

export type Refusal = Extract<Answer, { is: "Error" }>;
type AnswerNamed<A, Is> = A extends { readonly is: infer Some } ? (Is extends Some ? A : never) : never;
/** The answer to a command that was not refused. */
export type AnswerTo<Is extends Command["is"]> = AnswerNamed<Answer, (typeof ANSWER_TO)[Is]>;

const subjectOf = (message: Answer | Command): string | undefined =>
  "channelId" in message ? message.channelId : "id" in message ? message.id : undefined;

/** Whether it may be the reply to that command. A reply for another id is not. */
export function isAnswerTo<C extends Command>(reply: Answer, command: C): reply is Answer & AnswerTo<C["is"]> {
  if (reply.is !== ANSWER_TO[command.is]) return false;
  const [commandId, replyId] = [subjectOf(command), subjectOf(reply)];
  return commandId === undefined || replyId === undefined || commandId === replyId;
}

/** The pushed end of a channel has the same form as the answer to closing it. */
export function isPush(response: Response, pending: Command | undefined): response is Push {
  switch (response.is) {
    case "ActorEvent":
    case "ActorError":
    case "ActorResult":
    case "ChannelMessage":
      return true;
    case "ChannelClosed":
      return pending?.is !== "CloseChannel";
    default:
      return false;
  }
}
