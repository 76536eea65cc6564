import type { ActorId, CallOptions, Entropy, Message, Outgoing } from "../contract/index.ts";

/** Built key by key: what else a caller put into its object is not the engine's to pass on. */
export function stamp(outgoing: Outgoing, options: CallOptions | undefined, at: number, entropy: Entropy): Message {
  const { to, action, args, start } = outgoing;
  const id = entropy.hex(16);
  const seed = entropy.hex(16);
  // In one piece: an object takes what is added to it outside of itself.
  const message: { -readonly [K in keyof Message]: Message[K] } =
    start === undefined ? { id, to, action, args, at, seed } : { id, to, action, args, at, seed, start };
  if (outgoing.viewer !== undefined) message.viewer = outgoing.viewer;
  if (start !== undefined && outgoing.policy !== undefined) message.policy = outgoing.policy;
  if (outgoing.deadline !== undefined) message.deadline = outgoing.deadline;
  const trace = outgoing.trace ?? options?.trace;
  if (trace !== undefined) message.trace = trace;
  if (options?.answers !== undefined) message.answers = options.answers;
  if (options?.can !== undefined) message.can = options.can;
  return message;
}

/** From work: the id follows from the work's message, so that work that runs again asks the same again. */
export function stampFrom(work: Message, n: number, outgoing: Outgoing, endsAt: number, at: number, entropy: Entropy): Message {
  const from: ActorId = work.to;
  return {
    ...stamp(outgoing, work.trace === undefined ? undefined : { trace: work.trace }, at, entropy),
    id: `${work.id}.${n}`,
    from,
    deadline: Math.min(outgoing.deadline ?? endsAt, endsAt),
  };
}
