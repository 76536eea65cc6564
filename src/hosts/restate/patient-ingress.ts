import { EngineError, systemClock, systemEntropy, type Clock, type Entropy } from "../../core/contract/index.ts";
import { sendTo, type Invocation, type Send, type Sent } from "./ingress-request.ts";
import { errorFrom, isGuarded } from "./outcome.ts";
import { passed, pauses, UNKNOWN_RETRIES } from "./pauses.ts";
import { hasOwn } from "../../core/contract/internal.ts";

export interface PatientOptions {
  /** Of the server's HTTP ingress. */
  readonly ingress: string;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How long a call waits, and is sent again while the server is away, in all. At most 5 minutes. Default 60 s. */
  readonly patienceMs?: number;
  /** The server has answered a call. */
  readonly onAnswer?: () => void;
}

type Call = Omit<Invocation, "idempotencyKey">;

/** Half of what the server remembers a write's key for. */
const MOST_PATIENCE_MS = 300_000;
/** The server is away, does not know the handler yet, or pages changed with every attempt to read them. */
const AGAIN: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "ENGINE_MISSING", "STORE_CONFLICT"]);

/** Calls handlers that answer a `Guarded`, until it is known what became of it. Throws `EngineError`. */
export class PatientIngress {
  readonly #send: Send;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #patienceMs: number;

  constructor({ ingress, clock = systemClock, entropy = systemEntropy, patienceMs = 60_000, onAnswer }: PatientOptions) {
    this.#send = sendTo(ingress, onAnswer);
    this.#clock = clock;
    this.#entropy = entropy;
    this.#patienceMs = Math.min(patienceMs, MOST_PATIENCE_MS);
  }

  /** Applied once, however often it is sent. */
  write(call: Call): Promise<unknown> {
    return this.#sent({ ...call, idempotencyKey: this.#entropy.hex(16) });
  }

  /** Sees all that was written before it. */
  read(call: Call): Promise<unknown> {
    return this.#sent(call);
  }

  now(): number {
    return this.#clock.now();
  }

  async #sent(call: Invocation): Promise<unknown> {
    const clock = this.#clock;
    const givesUpAt = clock.now() + this.#patienceMs;
    let unknown = 0;
    const waits = pauses();
    let over = false;
    let sent: Sent | undefined;
    // A server whose node is away holds the call, and would answer with the node's return.
    const undo = clock.after(this.#patienceMs, () => {
      over = true;
      sent?.leave();
    });
    try {
      for (;;) {
        if (over) throw tooLate(call, undefined);
        sent = this.#send(call);
        try {
          const answer = await sent.answer;
          if (!isGuarded(answer)) throw strange(call);
          if (hasOwn(answer, "fault")) throw errorFrom(answer.fault);
          return answer.value;
        } catch (error) {
          if (over) throw tooLate(call, error);
          if (!(error instanceof EngineError && AGAIN.has(error.code))) throw error;
          if (error.code === "ENGINE_MISSING" && (unknown += 1) > UNKNOWN_RETRIES) throw error;
          const { value: pauseMs } = waits.next();
          if (clock.now() + pauseMs > givesUpAt) throw error;
          await passed(clock, pauseMs);
        }
      }
    } finally {
      undo();
    }
  }
}

export const strange = ({ object }: { readonly object: string }): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    `What serves ${object} answered something else than this version understands: register the deployment that fits.`,
    { applied: "unknown" },
  );

const tooLate = ({ object }: Call, cause: unknown): EngineError =>
  new EngineError(
    "OUTCOME_UNKNOWN",
    `${object} did not answer in time: see that its nodes and the Restate server are up, then try again.`,
    {
      applied: "unknown",
      cause,
    },
  );
