import type { Importer, Message } from "../core/contract/index.ts";
import { counted, visible } from "./output.ts";

const MOST_VIEWERS = 100;

interface Runs {
  readonly principal: string | undefined;
  readonly scopes: readonly string[];
  messages: number;
}

/** The messages and dead letters of an import, and whom they act as: a file can name anybody. */
export class ImportMessages {
  #others = 0;
  readonly #runs = new Map<string, Runs>();

  /** The same place, watched; `leaveOut`: no message and no letter gets there. */
  into(place: Importer, leaveOut: boolean): Importer {
    return {
      actor: (actor) => place.actor(actor),
      message: async (undelivered) => {
        this.#count(undelivered.message);
        return leaveOut || (await place.message(undelivered));
      },
      letter: async (letter) => {
        this.#count(letter.message);
        return leaveOut || (await place.letter(letter));
      },
      flush: () => place.flush(),
      [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
    };
  }

  /** On the standard error, where there are any. */
  report(leftOut: boolean, json: boolean): void {
    if (this.#runs.size === 0) return;
    const runs = Array.from(this.#runs.values());
    const others = this.#others === 0 ? {} : { others: this.#others };
    const rest = this.#others === 0 ? [] : [`${this.#others} as others`];
    const line = json
      ? JSON.stringify({ event: "import-messages", leftOut, runs, ...others })
      : visible(`${leftOut ? LEFT_OUT : WILL_RUN} ${[...runs.map(runText), ...rest].join("; ")}.`);
    process.stderr.write(`${line}\n`);
  }

  #count({ viewer }: Message): void {
    const { principal, scopes = [] } = viewer ?? {};
    const name = JSON.stringify([principal, scopes]);
    const known = this.#runs.get(name);
    if (known !== undefined) known.messages += 1;
    else if (this.#runs.size < MOST_VIEWERS) this.#runs.set(name, { principal, scopes, messages: 1 });
    else this.#others += 1;
  }
}

const WILL_RUN = "Messages of it run once it is served, dead letters when replayed (--no-messages leaves both out):";
const LEFT_OUT = "Left out:";

const runText = ({ principal, scopes, messages }: Runs): string =>
  `${counted(messages, "message")} as ${principal ?? "nobody"}${scopes.length === 0 ? "" : ` with ${scopes.join(" ")}`}`;
