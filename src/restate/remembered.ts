import { isObject } from "./is-object.ts";
import { isReply, type KeptReply } from "./kept.ts";

/** What an archive or an actor answers when it is asked for a reply, where it has one. */
export const isReplyOf = (answer: unknown): answer is { readonly value: KeptReply } => isObject(answer) && isReply(answer["value"]);
