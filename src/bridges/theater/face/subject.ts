import type { Stage, StageChange } from "../stage.ts";
import type { Hints } from "./hints.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Resolves an id or a unique name to the id. Throws `ActorNotFound`. */
export async function idOf(stage: Pick<Stage, "actor">, named: string): Promise<string> {
  return UUID.test(named) ? named.toLowerCase() : (await stage.actor(named)).id;
}

/** Reports every change of one actor, given by its id or name. Returns a function that ends the watch. */
export function follow(stage: Pick<Stage, "actor">, hints: Hints, named: string, told: () => void): () => void {
  if (UUID.test(named)) return hints.of(named.toLowerCase(), told);
  const bearer = new Bearer(stage, named, told);
  const undo = hints.all((change) => bearer.hear(change));
  return () => {
    bearer.close();
    undo();
  };
}

/** Watches whichever actor has the name at the time. */
class Bearer {
  readonly #stage: Pick<Stage, "actor">;
  readonly #named: string;
  readonly #told: () => void;
  #id: string | undefined;
  #gone = false;
  #asking = false;
  #missed = false;
  #closed = false;

  constructor(stage: Pick<Stage, "actor">, named: string, told: () => void) {
    this.#stage = stage;
    this.#named = named;
    this.#told = told;
    void this.#ask(false);
  }

  close(): void {
    this.#closed = true;
  }

  hear({ actor, what }: StageChange): void {
    if (actor === this.#named || actor === this.#id) {
      this.#gone = what === "ended";
      this.#told();
    } else if (this.#asking) this.#missed = true;
    else if (what === "began" && (this.#id === undefined || this.#gone)) void this.#ask(true);
  }

  async #ask(again: boolean): Promise<void> {
    this.#asking = true;
    this.#missed = false;
    const found = await this.#stage.actor(this.#named).then(
      ({ id }) => id,
      () => undefined,
    );
    this.#asking = false;
    const other = found !== undefined && found !== this.#id;
    if (other) this.#gone = false;
    this.#id = found ?? this.#id;
    if (!this.#closed && ((again && other) || this.#missed)) this.#told();
  }
}
