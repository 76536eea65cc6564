import type { ActorId, Context, Log, Message, Outgoing, Progress, Reply } from "../contract/index.ts";
import type { Send, SendOptions, WorkContext } from "./context-types.ts";
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
  get call(): Send<Promise<Reply>> {
    return async (to: ActorId | Outgoing, given?: string | SendOptions, args?: unknown, options?: SendOptions) => {
      this.alive();
      return this.#engine.call(outgoing(to, given, args, options, this.message));
    };
  }
}
