import { EngineError, type Clock } from "../../core/contract/index.ts";
import { sendTo, unanswered, type Invocation, type Send, type Sent } from "./ingress-request.ts";
import { isObject } from "./is-object.ts";
import { passed, pauses, UNKNOWN_RETRIES } from "./pauses.ts";
import { isUp } from "./server-health.ts";

export interface IngressOptions {
  readonly base: string;
  /** By which the server is tried again. */
  readonly clock: Clock;
  /** For how long. */
  readonly patienceMs: number;
  /** The server has answered a call. */
  readonly onAnswer?: () => void;
}

/** Longer than this no call is sent again: the server must remember each one's key for longer, and of every call. */
export const MOST_PATIENCE_MS = 60_000;
/** Without an answer for this long, the server is asked whether it is up. */
const ATTEMPT_MS = 15_000;
const PROBE_MS = 3_000;
/** The server is away, or does not know the handler yet. */
const AGAIN: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "ENGINE_MISSING"]);

/** Calls handlers, again while the server is away: only those that may be called twice, by their idempotency key or by what they do. */
export class Ingress {
  readonly #options: IngressOptions;
  readonly #send: Send;

  constructor(options: IngressOptions) {
    this.#options = { ...options, patienceMs: Math.min(options.patienceMs, MOST_PATIENCE_MS) };
    this.#send = sendTo(options.base, options.onAnswer);
  }

  /** Throws `OUTCOME_UNKNOWN` where it cannot be known what became of it. */
  invoke(invocation: Invocation): Promise<unknown> {
    return this.#again(() => this.#send(invocation));
  }

  /** Settles when the server has durably taken the call, with the invocation's name: the one of that idempotency key, where there is one. */
  async begin(invocation: Invocation): Promise<string> {
    const answer = await this.#again(() => this.#send(invocation, "begin"));
    if (isObject(answer) && typeof answer["invocationId"] === "string") return answer["invocationId"];
    throw unanswered(undefined);
  }

  /** What the server does may take long, so patience counts from when it does not answer at all. */
  async #again(send: () => Sent): Promise<unknown> {
    const { clock, patienceMs } = this.#options;
    let givesUpAt: number | undefined;
    let unknown = 0;
    let waits = pauses();
    for (;;) {
      let silent = false;
      const { answer, leave } = send();
      const undo = clock.after(ATTEMPT_MS, () => {
        silent = true;
        leave();
      });
      try {
        return await answer;
      } catch (error) {
        // It is asked anew for the same invocation: one that hangs, or a network that was cut, says nothing by itself.
        if (silent && (await isUp(this.#options.base, PROBE_MS))) {
          givesUpAt = undefined;
          waits = pauses();
          continue;
        }
        if (!(error instanceof EngineError && AGAIN.has(error.code))) throw error;
        if (error.code === "ENGINE_MISSING" && (unknown += 1) > UNKNOWN_RETRIES) throw error;
        const { value: pauseMs } = waits.next();
        givesUpAt ??= clock.now() + patienceMs;
        if (clock.now() + pauseMs > givesUpAt) throw error;
        await passed(clock, pauseMs);
      } finally {
        undo();
      }
    }
  }
}
