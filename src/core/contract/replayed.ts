import type { Message } from "./actor.ts";

/** A dead letter's message as it goes out once more: what answers it then is another message than what answered it before. */
export const replayed = (message: Message): Message => ({ ...message, replays: (message.replays ?? 0) + 1 });
