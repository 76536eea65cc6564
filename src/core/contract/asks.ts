import type { Outgoing, Reply } from "./actor.ts";

declare const ANSWER: unique symbol;

/** A message whose receiver says in its `output` what it answers. The type alone knows: the message is what any other is. */
export interface Asks<T> extends Outgoing {
  readonly [ANSWER]: T;
}

/** What comes back: the receiver has held it against its `output`. */
export type ReplyWith<T> = { readonly ok: T } | Exclude<Reply, { readonly ok: unknown }>;
