import type { Clock, Member, Members } from "../../core/contract/index.ts";

/** A registry in memory, with leases, that can be unavailable. */
export class MemoryMembers implements Members {
  readonly #clock: Clock;
  readonly #leases = new Map<string, { readonly member: Member; readonly until: number }>();
  /** How often it was requested. */
  requests = 0;
  away: "no" | "fails" | "hangs" = "no";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async seen(self: Member, forMs: number): Promise<readonly Member[]> {
    this.requests += 1;
    await this.#answering();
    this.#leases.set(self.node, { member: self, until: this.#clock.now() + forMs });
    return this.listed();
  }

  async left(node: string): Promise<void> {
    await this.#answering();
    this.#leases.delete(node);
  }

  listed(): readonly Member[] {
    const now = this.#clock.now();
    return [...this.#leases.values()].filter(({ until }) => until > now).map(({ member }) => member);
  }

  /** As if some node had registered it. */
  list(member: Member, forMs = 1_000_000_000): void {
    this.#leases.set(member.node, { member, until: this.#clock.now() + forMs });
  }

  #answering(): Promise<void> {
    if (this.away === "fails") throw new Error("The registry is away.");
    return this.away === "hangs" ? new Promise(() => undefined) : Promise.resolve();
  }
}
