import type { ActorId, Asks, Context, Log, Message, Outgoing, Progress, Reply, ReplyWith } from "../contract/index.ts";
import { missingActorRefusal } from "../contract/internal.ts";
import type { Call, SendOptions, WorkContext } from "./context-types.ts";
import { outgoing, TurnContext } from "./turn-context.ts";
import type { Wakeful } from "./wakes.ts";

/** A turn in the making that may wait; its draft lives as long as the work. */
export class WorkingContext extends TurnContext implements WorkContext<object, unknown> {
  readonly #engine: Context;
  constructor(base: object, message: Message, args: unknown, kind: Wakeful, confirms: boolean, life: string, seq: number, engine: Context) {
    super(base, message, args, kind, confirms, life, seq);
    this.#engine = engine;
  }
  get signal(): AbortSignal {
    return this.#engine.signal;
  }
  get progress(): Progress {
    return (...step) => {
      this.alive();
      this.#engine.progress(...step);
    };
  }
  get log(): Log {
    return (...line) => {
      this.alive();
      this.#engine.log(...line);
    };
  }
  get call(): Call {
    const ask = async (to: ActorId | Outgoing, given?: string | SendOptions, args?: unknown, options?: SendOptions): Promise<Reply> => {
      this.alive();
      try {
        return await this.#engine.call(outgoing(to, given, args, options, this.message));
      } catch (error) {
        // A missing actor is an answer that work can handle. Thrown, it would look like a crash of the work to its caller.
        const refusal = missingActorRefusal(error);
        if (refusal === undefined) throw error;
        return refusal;
      }
    };
    function call<T>(asks: Asks<T>, options?: SendOptions): Promise<ReplyWith<T>>;
    function call(other: Outgoing, options?: SendOptions): Promise<Reply>;
    function call(to: ActorId, action: string, args?: unknown, options?: SendOptions): Promise<Reply>;
    async function call(...given: Parameters<typeof ask>): Promise<unknown> {
      return ask(...given);
    }
    return call;
  }
}
