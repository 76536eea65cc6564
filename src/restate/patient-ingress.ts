import { EngineError, systemClock, systemEntropy, type Clock, type Entropy } from "../contract/index.ts";
import { invoke, type Invocation } from "./ingress.ts";
import { errorFrom, isGuarded } from "./outcome.ts";

export interface PatientOptions {
  /** Of the server's HTTP ingress. */
  readonly ingress: string;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How long a call waits, and is sent again while the server is away, in all. At most 5 minutes. Default 60 s. */
  readonly patienceMs?: number;
}

type Call = Omit<Invocation, "idempotencyKey">;

/** Half of what the server remembers a write's key for. */
const MOST_PATIENCE_MS = 300_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** The server is away, or pages changed with every attempt to read them. */
const AGAIN: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "STORE_CONFLICT"]);

/** Calls handlers that answer a `Guarded`, until it is known what became of it. Throws `EngineError`. */
export class PatientIngress {
  readonly #ingress: string;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #patienceMs: number;

  constructor({ ingress, clock = systemClock, entropy = systemEntropy, patienceMs = 60_000 }: PatientOptions) {
    this.#ingress = ingress;
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
    const abort = new AbortController();
    const givesUpAt = this.#clock.now() + this.#patienceMs;
    // A server whose node is away holds the call, and would answer with the node's return.
    const undo = this.#clock.after(this.#patienceMs, () => abort.abort());
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        try {
          const answer = await invoke(this.#ingress, call, abort.signal);
          if (!isGuarded(answer)) throw strange(call);
          if ("fault" in answer) throw errorFrom(answer.fault);
          return answer.value;
        } catch (error) {
          if (abort.signal.aborted) throw tooLate(call, error);
          const again = error instanceof EngineError && AGAIN.has(error.code);
          if (!again || this.#clock.now() + pauseMs > givesUpAt) throw error;
        }
        await new Promise<void>((resolve) => this.#clock.after(pauseMs, resolve));
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
