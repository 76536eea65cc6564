/** At so many acknowledged calls the node is killed, then, once it is back, the leader; so many more must follow. */
const NODE_DIES_AT = 40;
const LEADER_DIES_AFTER = 40;
const THEN_MORE = 60;

/** What is killed when, told by what was acknowledged. */
export class Fates {
  readonly #node: () => Promise<void>;
  readonly #leader: () => Promise<void>;
  #acknowledged = 0;
  #nodeBack: Promise<void> | undefined;
  #backAt: number | undefined;
  #leaderGone: Promise<void> | undefined;
  #goneAt: number | undefined;
  retried = 0;

  constructor(node: () => Promise<void>, leader: () => Promise<void>) {
    this.#node = node;
    this.#leader = leader;
  }

  acknowledged(): void {
    const count = (this.#acknowledged += 1);
    if (count === NODE_DIES_AT) this.#nodeBack = this.#node().then(() => void (this.#backAt = this.#acknowledged));
    if (this.#backAt !== undefined && count >= this.#backAt + LEADER_DIES_AFTER)
      this.#leaderGone ??= this.#leader().then(() => void (this.#goneAt = this.#acknowledged));
  }

  get over(): boolean {
    return this.#goneAt !== undefined && this.#acknowledged >= this.#goneAt + THEN_MORE;
  }

  /** Rejects with what a kill could not do. */
  async settled(): Promise<void> {
    await this.#nodeBack;
    await this.#leaderGone;
  }
}
