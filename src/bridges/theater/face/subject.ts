import type { Stage, StageChange } from "../stage.ts";
import type { ChangeHints } from "./hints.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Resolves an id or a unique name to the id. Throws `ActorNotFound`. */
export async function resolveActorId(stage: Pick<Stage, "actor">, idOrName: string): Promise<string> {
  return UUID.test(idOrName) ? idOrName.toLowerCase() : (await stage.actor(idOrName)).id;
}

/** Reports every change of one actor, given by its id or name. Returns a function that ends the watch. */
export function watchActor(stage: Pick<Stage, "actor">, hints: ChangeHints, idOrName: string, onChange: () => void): () => void {
  if (UUID.test(idOrName)) return hints.forActor(idOrName.toLowerCase(), onChange);
  const watch = new NamedActorWatch(stage, idOrName, onChange);
  const undo = hints.forAll((change) => watch.onHint(change));
  return () => {
    watch.close();
    undo();
  };
}

/** Watches whichever actor has the name at the time. */
class NamedActorWatch {
  readonly #stage: Pick<Stage, "actor">;
  readonly #name: string;
  readonly #onChange: () => void;
  #id: string | undefined;
  #hasEnded = false;
  #isResolving = false;
  #isHinted = false;
  #isClosed = false;

  constructor(stage: Pick<Stage, "actor">, idOrName: string, onChange: () => void) {
    this.#stage = stage;
    this.#name = idOrName;
    this.#onChange = onChange;
    void this.#resolve(false);
  }

  close(): void {
    this.#isClosed = true;
  }

  onHint({ actor, what }: StageChange): void {
    if (actor === this.#name || actor === this.#id) {
      this.#hasEnded = what === "ended";
      this.#onChange();
    } else if (this.#isResolving) this.#isHinted = true;
    else if (what === "began" && (this.#id === undefined || this.#hasEnded)) void this.#resolve(true);
  }

  async #resolve(isRepeated: boolean): Promise<void> {
    this.#isResolving = true;
    this.#isHinted = false;
    const found = await this.#stage.actor(this.#name).then(
      ({ id }) => id,
      () => undefined,
    );
    this.#isResolving = false;
    const isOther = found !== undefined && found !== this.#id;
    if (isOther) this.#hasEnded = false;
    this.#id = found ?? this.#id;
    if (!this.#isClosed && ((isRepeated && isOther) || this.#isHinted)) this.#onChange();
  }
}
