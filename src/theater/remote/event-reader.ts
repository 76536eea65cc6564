import { StageError } from "../stage.ts";
import type { Calls } from "./calls.ts";
import type { KeptChain } from "./kept-chain.ts";
import type { KeptChains } from "./kept-chains.ts";
import type { Settings } from "./options.ts";

/** Reads chains, where the server keeps any: those since June 2026 do not, and answer nothing when asked. */
export class EventReader {
  readonly #settings: Settings;
  readonly #calls: Calls;
  readonly #chains: KeptChains;
  #answered = false;
  #unknownUntil = 0;

  constructor(settings: Settings, calls: Calls, chains: KeptChains) {
    this.#settings = settings;
    this.#calls = calls;
    this.#chains = chains;
  }

  /** Whether it is known that chains can be read: else what is to be told of an actor must be followed from its start. */
  get reads(): boolean {
    return this.#answered;
  }

  /** Whether it is known that they cannot. */
  get cannot(): boolean {
    return this.#settings.clock.now() < this.#unknownUntil;
  }

  /** As it is now. Undefined: not to be had, and what was seen of it is all there is. Throws `StageError`. */
  async read(actor: string, limitMs = this.#settings.limits.replyMs, tries?: number): Promise<KeptChain | undefined> {
    if (this.cannot) return undefined;
    const { clock, limits, log, server } = this.#settings;
    try {
      const limit = this.#answered ? limitMs : Math.min(limitMs, limits.probeMs);
      const answer = await this.#calls.read({ is: "GetActorEvents", id: actor }, limit, tries);
      this.#answered = true;
      return answer === undefined ? undefined : this.#chains.replace(actor, answer.events);
    } catch (error) {
      if (!(error instanceof StageError) || error.code !== "Timeout" || this.#answered) throw error;
      // Silent to this, and to nothing else: it does not know the command.
      await this.#calls.read({ is: "ListActors" }, limits.probeMs);
      this.#unknownUntil = clock.now() + limits.unknownMs;
      log("warning", { event: "theater-keeps-no-chains", server });
      return undefined;
    }
  }
}
