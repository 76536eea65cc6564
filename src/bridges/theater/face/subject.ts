import type { Stage, StageChange } from "../stage.ts";
import type { Hints } from "./hints.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The id behind an id or a unique name. Throws `ActorNotFound`. */
export async function idOf(stage: Pick<Stage, "actor">, named: string): Promise<string> {
  return UUID.test(named) ? named.toLowerCase() : (await stage.actor(named)).id;
}

/** Tells of every change of one actor, by whichever way it is named. Returns its undo. */
export function follow(stage: Pick<Stage, "actor">, hints: Hints, named: string, told: () => void): () => void {
  if (UUID.test(named)) return hints.of(named.toLowerCase(), told);
  const bearer = new Bearer(stage, named, told);
  const undo = hints.all((change) => bearer.hear(change));
  return () => {
    bearer.close();
    undo();
  };
}

/** A name is whoever bears it at the time. */
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
