// Owns: what a handler of `replies` has at hand: the reply, and the caller behind it. Does not own: which handler runs (receive-reply.ts).
import type { ActorViewer, Json, Message, Reply, Turn } from "../contract/index.ts";
import type { CompiledReply } from "./actions.ts";
import type { Refused } from "./context.ts";
import { readReplyArgs, type ReturnedReply } from "./delegation.ts";
import { type Caller, type KindOfTurn, TurnContext } from "./turn-context.ts";

const NOT_REFUSED: Refused = { code: "", message: "" };

/** The turn of a reply. It is on behalf of the call that made the request. */
export class ReplyContext extends TurnContext {
  readonly #returned: ReturnedReply;

  constructor(
    base: object,
    message: Message,
    handler: CompiledReply,
    returned: ReturnedReply,
    viewer: ActorViewer,
    kind: KindOfTurn,
    life: string,
    seq: number,
  ) {
    super(base, message, readReplyArgs(handler, returned.args), viewer, kind, life, seq);
    this.#returned = returned;
  }
  /** What the other actor replied; null if it refused. */
  get reply(): Json {
    const { reply } = this.#returned;
    return "ok" in reply ? reply.ok : null;
  }
  get refused(): Refused {
    const { reply } = this.#returned;
    return "refused" in reply ? reply.refused : NOT_REFUSED;
  }
  protected override closeWith(reply: Reply): Turn<object> {
    const turn = this.close(undefined, false);
    return { ...turn, answer: { ...turn.answer, [this.#returned.call.id]: reply } };
  }
  protected override caller(): Caller {
    const { call, viewer, deadline, reply } = this.#returned;
    // A question to the client would run the whole call again, and with it the request that was applied already.
    const more = { viewer, can: undefined, answers: undefined };
    return "refused" in reply ? { ...more, call: { ...call, undoing: true }, deadline: undefined } : { ...more, call, deadline };
  }
}
